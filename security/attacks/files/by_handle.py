# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
handle, mount = ctypes.create_string_buffer(136), ctypes.c_int()
libc.name_to_handle_at(-100, b"/", handle, ctypes.byref(mount), 0)
print("BREACHED")
