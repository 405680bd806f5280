# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.connect(3, b"\x01\x00\0winnow-attack", 16)
print("BREACHED")
