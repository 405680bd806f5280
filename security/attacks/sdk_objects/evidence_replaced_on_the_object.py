# fence: rejected | walls: -
from client_sdk import MCPClient
MCPClient.kb = MCPClient.retrieve_evidence = lambda self, question: "BREACHED"
print(MCPClient().retrieve_evidence("x"))
