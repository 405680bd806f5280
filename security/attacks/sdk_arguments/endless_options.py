# fence: memory | walls: - | limits: memory_bytes=67108864
import time
from client_sdk import MCPClient
class Options:
    def keys(self):
        for number in range(1024):
            yield str(number) * (1 << 16)
            enough = time.monotonic() + 0.001  # as fast as memory grows elsewhere, not faster than the watch samples it
            while time.monotonic() < enough:
                pass
        print("BREACHED")
    def __getitem__(self, name):
        return name
MCPClient().call_tool("kb_search", {"query": "which rule", "max_per_doc": 2, "options": Options()})
