# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import math
started = time.monotonic()
math.factorial(180_000)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
