# fence: error | walls: -
from struct import Struct

made = Struct.__new__(Struct)
print("BREACHED" if made.size < 1 else "")
