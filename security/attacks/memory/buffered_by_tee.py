# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
from itertools import repeat, tee
first, held = tee(map(str, range(3_000_000)))
for _ in first:
    pass
time.sleep(0.3)
print("BREACHED")
