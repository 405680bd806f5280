# fence: rejected | walls: crashed
import os
os.close(os.eventfd(0))
print("BREACHED")
