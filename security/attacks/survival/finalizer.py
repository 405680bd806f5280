# fence: timeout/ok | walls: timeout/ok | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
class Undead:
    def __del__(self):
        while time.monotonic() < end:
            pass
        print("BREACHED")
Undead()
