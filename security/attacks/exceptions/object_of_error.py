# fence: rejected | walls: -
import json
class Walk:
    pass
try:
    json.nothing
except AttributeError as error:
    print("BREACHED" if "module" in str(type(error.obj)) else "other")
