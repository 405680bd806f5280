# fence: rejected | walls: -
import json
json.dumps = lambda value: "BREACHED"
print(json.dumps(1))
