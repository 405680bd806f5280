# fence: rejected | walls: -
from client_sdk import kb
kb.read_excerpt.__globals__["request_row"] = lambda *call: {"excerpt": "BREACHED"}
print(kb.read_excerpt("x")["excerpt"])
