# fence: rejected | walls: -
import json
box = [[json]]
for box[0][0].dumps in [lambda value: "BREACHED"]:
    print(json.dumps(1))
