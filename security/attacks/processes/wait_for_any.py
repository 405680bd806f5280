# fence: rejected | walls: error
import os
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("BREACHED")
