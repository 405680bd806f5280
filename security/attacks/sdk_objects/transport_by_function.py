# fence: rejected | walls: -
from client_sdk import kb
kb.search.__globals__["call"] = lambda *call: {"results": [{"id": "BREACHED"}]}
print(kb.search("x")[0].id)
