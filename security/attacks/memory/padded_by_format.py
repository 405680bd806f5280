# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = f"{1:>280000000}"
time.sleep(0.3)
print("BREACHED")
