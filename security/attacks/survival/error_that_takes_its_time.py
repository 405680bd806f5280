# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
class Slow(Exception):
    def __str__(self):
        while time.monotonic() < end:
            pass
        print("BREACHED")
        return ""
raise Slow
