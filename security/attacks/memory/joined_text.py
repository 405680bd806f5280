# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
from itertools import repeat
held = "".join(repeat("x" * 1024, 270 << 10))
time.sleep(0.3)
print("BREACHED")
