# fence: rejected | walls: crashed
import os
os.kill(os.getppid(), 0)
print("BREACHED")
