# fence: rejected | walls: crashed
import os
os.setuid(os.getuid())
print("BREACHED")
