# fence: rejected | walls: -
import json
json.dumps: object = lambda value: "BREACHED"
print(json.dumps(1))
