# fence: rejected | walls: error | host: may refuse
import ctypes, os, signal, struct
libc = ctypes.CDLL(None, use_errno=True)
arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
pid = libc.syscall(435, arguments, len(arguments))
if pid == 0:
    os._exit(0)
if pid < 0:
    raise OSError(ctypes.get_errno(), "clone3")
os.waitpid(pid, 0)
print("BREACHED")
