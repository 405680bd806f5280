# fence: rejected | walls: timeout | limits: wall_seconds=1
import os, struct
import time
os.write(3, struct.pack(">I", 1_000) + b"{")
time.sleep(2)
os.write(1, b"BREACHED")
