# fence: rejected | walls: -
import json
print("BREACHED" if "/" in json.dumps.__code__.co_filename else "")
