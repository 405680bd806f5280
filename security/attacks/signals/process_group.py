# fence: rejected | walls: crashed
import os
os.killpg(0, 0)
print("BREACHED")
