# fence: rejected | walls: error
import os
print("BREACHED" if os.readlink("/proc/self/exe") else "empty")
