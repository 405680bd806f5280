# fence: error | walls: -
from collections import ChainMap
class Trojan:
    maps = [(), {"__str__": lambda self: "BREACHED"}]
print(ChainMap.new_child(Trojan, "Made")())
