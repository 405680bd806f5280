# fence: error | walls: -
import json
json.JSONEncoder.__init__(json.JSONEncoder, default=lambda value: "BREACHED")
print(json.JSONEncoder.default(1))
