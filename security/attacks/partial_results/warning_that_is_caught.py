# fence: timeout | walls: timeout | limits: wall_seconds=0.2
import time
until = time.monotonic() + 0.4
while time.monotonic() < until:
    try:
        while time.monotonic() < until:
            pass
    except BaseException:
        pass
print("BREACHED")
