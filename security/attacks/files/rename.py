# fence: rejected | walls: error
import os
try:
    os.rename("missing", "made")
except FileNotFoundError:
    print("BREACHED")
