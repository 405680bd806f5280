# fence: rejected | walls: error
import os
try:
    os.chmod("missing", 0o777)
except FileNotFoundError:
    print("BREACHED")
