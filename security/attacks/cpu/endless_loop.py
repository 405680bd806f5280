# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
started = time.monotonic()
while time.monotonic() - started < 0.3:
    pass
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
