# fence: rejected | walls: error
import json
os = json.__spec__.loader.__init__.__globals__["sys"].modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
