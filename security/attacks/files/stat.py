# fence: rejected | walls: error
import os
os.stat("/")
print("BREACHED")
