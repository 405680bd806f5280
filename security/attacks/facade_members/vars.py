# fence: rejected | walls: -
import json
print("BREACHED" if vars(json)["dumps"] else "")
