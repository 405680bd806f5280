# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
class Endless(list):
    def __iter__(self):
        time.sleep(0.3)
        print("BREACHED")
        return iter(())
    def __repr__(self):
        return str(tuple(self))
result = Endless([1])
