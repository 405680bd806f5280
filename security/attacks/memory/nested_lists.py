# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = []
for _ in range(300_000):
    held = [held] * 100
time.sleep(0.3)
print("BREACHED")
