# fence: rejected | walls: -
import json
delattr(json, "dumps")
print("BREACHED" if not hasattr(json, "dumps") else "")
