# fence: memory | walls: - | limits: memory_bytes=67108864
import itertools
from client_sdk import graph
def nodes():
    for number in itertools.count():
        yield str(number) * (1 << 16)
        if number == 1024:
            print("BREACHED")
            return
graph.expand(nodes())
