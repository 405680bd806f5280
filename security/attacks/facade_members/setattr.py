# fence: rejected | walls: ok
import json
json.dumps = lambda value: "BREACHED"
print(json.dumps(1))
