# fence: ok/rejected | walls: -
from enum import Enum

class Color(Enum):
    RED = 1

class Thief:
    def __ror__(self, other):
        other["EVIL"] = 1
        return other

Color._member_map_ | Thief()
print("BREACHED" if "EVIL" in Color.__members__ else "")
