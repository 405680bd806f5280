# fence: rejected | walls: error
import os
os.read(0, 1)
print("BREACHED")
