# fence: rejected | walls: -
import json
try:
    "{0.nothing}".format(json)
except AttributeError as error:
    print("BREACHED" if "module" in str(error.obj) else "")
