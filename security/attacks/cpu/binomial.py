# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import math
started = time.monotonic()
math.comb(200_000, 100_000)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
