# fence: rejected | walls: error/crashed
import os
os.execv("/bin/echo", ["echo", "BREACHED"])
