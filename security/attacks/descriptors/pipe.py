# fence: rejected | walls: error
import os
os.pipe()
print("BREACHED")
