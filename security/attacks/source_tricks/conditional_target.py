# fence: rejected | walls: -
import json
[json, None][0].dumps = lambda value: "BREACHED"
print(json.dumps(1))
