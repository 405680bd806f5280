# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = 1 << (8 * (270 << 20))
time.sleep(0.3)
print("BREACHED")
