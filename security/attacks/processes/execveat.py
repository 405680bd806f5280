# fence: rejected | walls: crashed
import ctypes, sys
number = 322 if sys.implementation._multiarch.startswith("x86_64") else 281
arguments = (ctypes.c_char_p * 3)(b"echo", b"BREACHED", None)
ctypes.CDLL(None).syscall(number, -100, b"/bin/echo", arguments, None, 0)
