# fence: rejected | walls: crashed
import ctypes, struct
header = struct.pack("Ii", 0x20080522, 0)
ctypes.CDLL(None).capset(header, bytes(24))
print("BREACHED")
