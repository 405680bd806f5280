# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = ("a" * 16_384).replace("a", "b" * 16_384)
time.sleep(0.3)
print("BREACHED")
