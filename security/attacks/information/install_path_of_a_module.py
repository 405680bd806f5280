# fence: rejected | walls: -
import json
print("BREACHED" if "/" in json.__file__ else "")
