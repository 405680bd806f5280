# fence: rejected | walls: error
import os
os.listxattr("/")
print("BREACHED")
