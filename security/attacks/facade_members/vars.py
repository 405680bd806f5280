# fence: rejected | walls: ok
import json
print("BREACHED" if vars(json)["dumps"] else "")
