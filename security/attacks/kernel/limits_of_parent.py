# fence: rejected | walls: crashed
import os, resource
resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
print("BREACHED")
