# fence: rejected | walls: error
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print("BREACHED")
