# fence: rejected | walls: error
import os
try:
    os.link("missing", "made")
except FileNotFoundError:
    print("BREACHED")
