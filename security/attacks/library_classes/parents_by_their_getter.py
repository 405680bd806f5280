# fence: error | walls: -
from collections import ChainMap
class Trojan:
    maps = [0, "Made", (), {"__str__": lambda self: "BREACHED"}]
print(ChainMap.parents.fget(Trojan)())
