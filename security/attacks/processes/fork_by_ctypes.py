# fence: rejected | walls: error
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.fork()
if pid == 0:
    os._exit(0)
if pid < 0:
    raise OSError(ctypes.get_errno(), "fork")
os.waitpid(pid, 0)
print("BREACHED")
