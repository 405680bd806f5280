# fence: error | walls: -
from collections import Counter
from typing import Annotated
Meta = Annotated[Counter, 1].copy(int)
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
