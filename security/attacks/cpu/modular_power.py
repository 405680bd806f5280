# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
started = time.monotonic()
pow(3, 1 << 6_000, (1 << 6_000) - 1)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
