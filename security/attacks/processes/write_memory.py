# fence: rejected | walls: crashed
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
source, target = ctypes.create_string_buffer(b"forged"), ctypes.create_string_buffer(b"intact")
here, there = Span(ctypes.addressof(source), 6), Span(ctypes.addressof(target), 6)
libc.process_vm_writev(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
print("BREACHED" if target.value == b"forged" else "refused")
