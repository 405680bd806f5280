# fence: ok | walls: -
from dataclasses import dataclass
class Row:
    x: int = 0
Row.__annotations__["y"] = int
Row.y = 1
Made = dataclass(Row)
print("BREACHED" if "y" in str(Made()) else "copied")
