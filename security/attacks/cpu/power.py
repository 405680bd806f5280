# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
started = time.monotonic()
3**3_500_000
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
