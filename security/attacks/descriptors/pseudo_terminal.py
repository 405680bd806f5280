# fence: rejected | walls: error
import os
os.openpty()
print("BREACHED")
