# fence: rejected | walls: error
import os
print("BREACHED" if [name for name in os.listdir("/proc") if name.isdigit()] else "empty")
