# fence: error | walls: -
from collections import ChainMap

class Name(str):
    def copy(self):
        return "Made"

class Trojan:
    maps = [Name("Made"), (), {"__str__": lambda self: "BREACHED"}]

print(ChainMap.copy(Trojan)())
