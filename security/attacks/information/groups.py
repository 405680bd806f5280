# fence: rejected | walls: error
import os
os.getgroups()
print("BREACHED")
