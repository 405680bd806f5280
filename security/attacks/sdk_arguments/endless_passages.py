# fence: memory | walls: - | limits: memory_bytes=67108864
import itertools
from client_sdk import kb
def passages():
    for number in itertools.count():
        yield str(number) * (1 << 16)
        if number == 1024:
            print("BREACHED")
            return
kb.extract_evidence("which rule", passages())
