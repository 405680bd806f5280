# fence: rejected | walls: error
import os
os.write(2, b"")
print("BREACHED")
