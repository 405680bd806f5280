# fence: rejected | walls: error
import os
try:
    os.truncate("missing", 0)
except FileNotFoundError:
    print("BREACHED")
