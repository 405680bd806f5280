# fence: rejected | walls: crashed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
source = ctypes.create_string_buffer(b"secret")
target = ctypes.create_string_buffer(6)
here, there = Span(ctypes.addressof(target), 6), Span(ctypes.addressof(source), 6)
read = libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
print("BREACHED" if read == 6 else "refused")
