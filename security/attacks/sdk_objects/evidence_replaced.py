# fence: rejected | walls: -
from client_sdk import KnowledgeBase, kb
KnowledgeBase.retrieve_evidence = staticmethod(lambda question: "BREACHED")
print(kb.retrieve_evidence("x"))
