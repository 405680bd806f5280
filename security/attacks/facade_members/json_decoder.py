# fence: rejected | walls: error
import json
os = json.codecs.builtins.__import__("os")
print("BREACHED" if os.listdir("/") else "empty")
