# fence: rejected | walls: ok
import ctypes
libc = ctypes.CDLL(None)
libc.puts(b"BREACHED")
libc.fflush(None)
