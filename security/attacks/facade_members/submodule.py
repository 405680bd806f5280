# fence: error | walls: error
import json
os = json.scanner.re.enum.sys.modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
