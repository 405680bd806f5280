# fence: rejected | walls: error
import os
try:
    os.remove("missing")
except FileNotFoundError:
    print("BREACHED")
