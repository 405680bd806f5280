# fence: error | walls: -
import struct

class Packed(struct.Struct):
    pass

packed = Packed("B")
pieces = packed.iter_unpack(b"abcdefgh")
next(pieces)
packed.__init__("200s")
found = next(pieces)[0]
print("BREACHED" if len(found) == 200 else "")
