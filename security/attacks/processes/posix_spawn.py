# fence: rejected | walls: error
import os
pid = os.posix_spawn("/bin/true", ["true"], {})
os.waitpid(pid, 0)
print("BREACHED")
