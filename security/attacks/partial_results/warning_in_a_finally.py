# fence: timeout | walls: timeout | limits: wall_seconds=0.2
import time
try:
    time.sleep(0.4)
finally:
    time.sleep(0.4)
    print("BREACHED")
