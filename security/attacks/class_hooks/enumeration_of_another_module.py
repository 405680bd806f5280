# fence: rejected | walls: -
# A class without a module of its own gets that of the code which makes it, and @dataclass runs code in that module.
from enum import Enum


class Colour(Enum):
    _ignore_ = ["__module__"]
    RED = 1


print("BREACHED" if Colour.__module__ == "enum" else "")
