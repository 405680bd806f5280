# fence: rejected | walls: -
import json
class Thief:
    def __radd__(self, other):
        print("BREACHED" if "module" in str(other) else "")
        return None
try:
    json.nothing
except AttributeError as error:
    error.obj += Thief()
