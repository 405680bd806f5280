# fence: rejected | walls: crashed
import os
os.setpriority(os.PRIO_PROCESS, 0, 19)
print("BREACHED")
