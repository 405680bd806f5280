# fence: rejected | walls: error
import os
os.mkdir("made")
print("BREACHED")
