# fence: memory | walls: - | limits: memory_bytes=67108864
import itertools
import time
from client_sdk import kb
def passages():
    for number in itertools.count():
        yield str(number) * (1 << 16)
        enough = time.monotonic() + 0.001  # as fast as memory grows elsewhere, not faster than the watch samples it
        while time.monotonic() < enough:
            pass
        if number == 1024:
            print("BREACHED")
            return
kb.extract_evidence("which rule", passages())
