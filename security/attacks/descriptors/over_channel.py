# fence: rejected | walls: error
import os
os.dup2(0, 3)
print("BREACHED")
