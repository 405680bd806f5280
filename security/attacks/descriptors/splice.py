# fence: rejected | walls: crashed
import os
try:
    os.splice(0, 3, 1)
except OSError:
    pass
print("BREACHED")
