# fence: rejected | walls: crashed
import os
os.close(os.memfd_create("x"))
print("BREACHED")
