# fence: memory | walls: memory/crashed | both: memory/crashed | limits: memory_bytes=67108864
import time
held = []
for _ in range(300_000):
    held = [held] * 100
time.sleep(0.3)
print("BREACHED")
