# fence: rejected | walls: -
import json
print("BREACHED" if json.__dict__["codecs"] else "")
