# fence: rejected | walls: error
import os
os.dup(0)
print("BREACHED")
