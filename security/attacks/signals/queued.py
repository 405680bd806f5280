# fence: rejected | walls: crashed
import ctypes, os, signal
result = ctypes.CDLL(None).sigqueue(os.getpid(), signal.SIGCHLD, ctypes.c_void_p(1))
print("BREACHED" if result == 0 else "refused")
