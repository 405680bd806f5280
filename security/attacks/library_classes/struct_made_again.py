# fence: rejected | walls: -
import struct
packed = struct.Struct("B")
pieces = packed.iter_unpack(b"abcdefgh")
next(pieces)
struct.Struct.__init__(packed, "200s")
found = next(pieces)[0]
print("BREACHED" if len(found) == 200 else "")
