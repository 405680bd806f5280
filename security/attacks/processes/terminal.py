# fence: rejected | walls: error
import os
pid, _ = os.forkpty()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
print("BREACHED")
