# fence: timeout | walls: timeout | limits: wall_seconds=0.2
import time
class Endless(dict):
    def items(self):
        time.sleep(0.4)
        print("BREACHED")
        return super().items()
result = Endless(a=1)
time.sleep(0.4)
result.items()
