# fence: memory | walls: - | limits: memory_bytes=67108864
from client_sdk import MCPClient
class Options:
    def keys(self):
        for number in range(1024):
            yield str(number) * (1 << 16)
        print("BREACHED")
    def __getitem__(self, name):
        return name
MCPClient().call_tool("kb_search", {"query": "which rule", "max_per_doc": 2, "options": Options()})
