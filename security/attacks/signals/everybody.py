# fence: rejected | walls: crashed
import os
os.kill(-1, 0)
print("BREACHED")
