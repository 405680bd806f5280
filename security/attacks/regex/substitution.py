# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import re
started = time.monotonic()
re.sub(r"([\w.]+)+@x", "", "a" * 22 + "!")
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
