# fence: rejected | walls: -
from client_sdk import Results, kb
kb.search.__globals__["request_page"] = lambda *call: Results({"results": [{"id": "BREACHED"}]})
print(kb.search("x")[0].id)
