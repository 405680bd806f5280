# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
class Stubborn:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        while time.monotonic() < end:
            pass
        return True
with Stubborn():
    raise ValueError
print("BREACHED")
