# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import re
started = time.monotonic()
re.search("a*a*a*b", "a" * 280)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
