# fence: error | walls: -
from dataclasses import dataclass, field
class Field(type(field())):
    __slots__ = ()
print("BREACHED")
