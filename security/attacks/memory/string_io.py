# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
import io
held = io.StringIO()
for _ in range(256):
    held.write("x" * (1 << 20))
time.sleep(0.3)
print("BREACHED")
