# fence: rejected | walls: crashed
import os
os.mkfifo("made")
print("BREACHED")
