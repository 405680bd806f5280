# fence: rejected | walls: error/crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
# Only 32 bits of a number count: this one is that of getcwd in disguise.
import sys
number = 79 if sys.implementation._multiarch.startswith("x86_64") else 17
path = ctypes.create_string_buffer(4096)
libc.syscall(ctypes.c_long((1 << 32) | number), path, 4096)
if not path.value:
    raise OSError(ctypes.get_errno(), "getcwd")
print("BREACHED")
