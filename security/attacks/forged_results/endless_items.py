# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
class Endless(dict):
    def items(self):
        time.sleep(0.3)
        print("BREACHED")
        return super().items()
    def __repr__(self):
        return str(self.items())
result = Endless(a=1)
