# fence: rejected | walls: -
from client_sdk import MCPClient
class Client(MCPClient):
    pass
print("BREACHED" if Client.__init__.__globals__ else "")
