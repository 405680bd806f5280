# fence: rejected | walls: error
__builtins__ = {}
import os
print("BREACHED" if os.listdir("/") else "empty")
