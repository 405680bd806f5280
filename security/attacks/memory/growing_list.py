# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = []
for number in range(256):
    held.append(str(number) * (1 << 19))
time.sleep(0.3)
print("BREACHED")
