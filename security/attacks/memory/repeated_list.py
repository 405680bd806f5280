# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = [None] * (36 << 20)
time.sleep(0.3)
print("BREACHED")
