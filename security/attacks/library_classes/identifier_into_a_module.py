# fence: error | walls: -
import json
import uuid
uuid.UUID.__init__(json, int=5)
print("BREACHED" if json.int == 5 else "")
