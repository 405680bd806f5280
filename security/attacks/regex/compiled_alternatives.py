# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import re
started = time.monotonic()
re.compile("|".join(f"x{number}" for number in range(45_000)))
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
