# fence: rejected | walls: error
import os
print("BREACHED" if os.listdir("/proc/self/fd") else "")
