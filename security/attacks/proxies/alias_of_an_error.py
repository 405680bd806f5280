# fence: rejected | walls: -
import json
Alias = type(list[int])
try:
    json.nothing
except AttributeError as error:
    print("BREACHED" if "module" in str(Alias(error, ()).obj) else "other")
