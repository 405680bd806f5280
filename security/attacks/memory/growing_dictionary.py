# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = {number: str(number) for number in range(2_000_000)}
time.sleep(0.3)
print("BREACHED")
