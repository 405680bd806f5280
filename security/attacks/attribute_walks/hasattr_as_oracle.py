# fence: ok | walls: -
import json
print("BREACHED" if hasattr(json, "codecs") or hasattr(json.dumps, "__globals__") else "closed")
