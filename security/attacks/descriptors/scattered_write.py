# fence: rejected | walls: error
import os
os.writev(3, [b""])
print("BREACHED")
