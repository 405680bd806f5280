# fence: rejected | walls: error
import os
os.chdir("/")
print("BREACHED")
