# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import re
started = time.monotonic()
re.match("(a+)+$", "a" * 24 + "b")
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
