# fence: rejected | walls: error
import os
print("BREACHED" if open(f"/proc/{os.getppid()}/cmdline").read() else "empty")
