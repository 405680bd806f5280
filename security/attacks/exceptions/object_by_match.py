# fence: rejected | walls: -
import json
try:
    json.nothing
except AttributeError as error:
    match error:
        case AttributeError(obj=found):
            print("BREACHED" if "module" in str(found) else "")
