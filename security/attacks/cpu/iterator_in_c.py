# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
from collections import deque
from itertools import repeat
started = time.monotonic()
deque(repeat(0, 350_000_000), maxlen=0)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
