# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
try:
    pass
finally:
    while time.monotonic() < end:
        pass
print("BREACHED")
