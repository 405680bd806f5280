# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
from itertools import product
started = time.monotonic()
max(product("ab", repeat=21))
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
