# fence: rejected | walls: error
import ctypes, errno
ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(9999))
if ctypes.get_errno() != errno.ENOSYS:
    raise OSError(ctypes.get_errno(), "refused before the kernel looked")
print("BREACHED")
