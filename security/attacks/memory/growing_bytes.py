# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
held = bytearray()
for _ in range(256):
    held += b"x" * (1 << 20)
time.sleep(0.3)
print("BREACHED")
