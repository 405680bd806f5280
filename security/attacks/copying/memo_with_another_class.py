# fence: error | walls: -
import copy
from dataclasses import dataclass, fields

@dataclass
class Base:
    x: int = 0

class Box:
    pass

class Memo(dict):
    asked = 0
    def get(self, key, default=None):
        Memo.asked += 1
        return type(fields(Base)[0]) if Memo.asked == 2 else default

made = copy.deepcopy(Box(), Memo())
print("BREACHED" if type(made).__name__ == "Field" else "")
