# fence: error | walls: -
from collections import ChainMap
from itertools import groupby

class Trojan:
    maps = [0, "Made", (), {"__str__": lambda self: "BREACHED"}]

for made, _ in groupby([Trojan], key=ChainMap.parents.fget):
    print(made())
