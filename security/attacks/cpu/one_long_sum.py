# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
started = time.monotonic()
sum(range(25_000_000))
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
