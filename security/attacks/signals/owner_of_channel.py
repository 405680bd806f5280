# fence: rejected | walls: error
import fcntl, os
fcntl.fcntl(3, fcntl.F_SETOWN, os.getpid())
print("BREACHED")
