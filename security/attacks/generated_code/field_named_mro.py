# fence: rejected | walls: -
from dataclasses import dataclass, fields

@dataclass
class Walk:
    mro: object

print("BREACHED" if object in fields(Walk)[0].default() else "")
