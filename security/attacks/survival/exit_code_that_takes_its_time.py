# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
class Slow:
    def __bool__(self):
        while time.monotonic() < end:
            pass
        print("BREACHED")
        return False
    def __str__(self):
        return str(bool(self))
    __repr__ = __str__
raise SystemExit(Slow())
