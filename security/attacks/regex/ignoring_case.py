# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import re
started = time.monotonic()
re.findall("(?i)(x+x+)+y", "x" * 23)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
