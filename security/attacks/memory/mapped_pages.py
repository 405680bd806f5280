# fence: rejected | walls: error/memory | limits: memory_bytes=67108864
import time
import mmap
held = mmap.mmap(-1, 280 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held[:] = b"x" * len(held)
time.sleep(0.3)
print("BREACHED")
