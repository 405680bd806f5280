# fence: ok | walls: -
import copy
from dataclasses import dataclass, fields

@dataclass
class Base:
    x: int = 0

field = fields(Base)[0]

class Trojan(list):
    def __deepcopy__(self, memo):
        return field

again = copy.deepcopy(Trojan().__init__)
try:
    again(default=1, default_factory=2, init=3, repr=4, hash=5, compare=6, metadata={}, kw_only=7)
except TypeError:
    pass
print("BREACHED" if field.name is None else field.name)
