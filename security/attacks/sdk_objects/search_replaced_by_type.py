# fence: rejected | walls: -
from client_sdk import kb
type(kb).search = staticmethod(lambda query: "BREACHED")
print(kb.search("x"))
