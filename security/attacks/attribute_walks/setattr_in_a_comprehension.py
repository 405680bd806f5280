# fence: rejected | walls: -
import json
[setattr(json, name, lambda value: "BREACHED") for name in ("dumps",)]
print(json.dumps(1))
