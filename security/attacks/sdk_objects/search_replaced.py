# fence: rejected | walls: -
from client_sdk import KnowledgeBase, kb
KnowledgeBase.search = staticmethod(lambda query: "BREACHED")
print(kb.search("x"))
