# fence: error | walls: -
from collections import Counter
from dataclasses import dataclass

@dataclass
class Writer:
    most_common: object

Writer.__init__(Counter, lambda self: "BREACHED")
print(Counter().most_common())
