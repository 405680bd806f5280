# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
started = time.monotonic()
{number * (2**61 - 1) for number in range(9_000)}
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
