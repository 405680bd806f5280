# fence: rejected | walls: -
import client_sdk
from client_sdk.client import _TOOLS
_TOOLS["fetch"] = lambda **arguments: "BREACHED"
print(client_sdk.MCPClient().call_tool("fetch"))
