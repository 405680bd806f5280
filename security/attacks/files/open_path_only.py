# fence: rejected | walls: error
import os
os.open("/", os.O_PATH)
print("BREACHED")
