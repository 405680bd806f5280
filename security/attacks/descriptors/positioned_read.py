# fence: rejected | walls: error
import os
os.pread(0, 1, 0)
print("BREACHED")
