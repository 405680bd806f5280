# fence: rejected | walls: -
import copy
from collections import Counter

class Trojan:
    __slots__ = ("most_common",)
    made = False
    def __new__(cls):
        return Counter if cls.made else super().__new__(cls)
    def __getattr__(self, name):
        if name == "most_common":
            return lambda self: "BREACHED"
        raise AttributeError(name)

trojan = Trojan()
Trojan.made = True
copy.copy(trojan)
print(Counter().most_common())
