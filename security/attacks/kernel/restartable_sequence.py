# fence: rejected | walls: error
import ctypes, errno, sys
number = 334 if sys.implementation._multiarch.startswith("x86_64") else 293
ctypes.CDLL(None, use_errno=True).syscall(number, None, 0, 0, 0)
if ctypes.get_errno() == errno.EPERM:
    raise OSError(errno.EPERM, "rseq")
print("BREACHED")
