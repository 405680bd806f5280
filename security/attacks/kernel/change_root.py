# fence: rejected | walls: crashed
import os
try:
    os.chroot("missing")
except OSError:
    pass
print("BREACHED")
