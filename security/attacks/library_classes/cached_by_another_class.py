# fence: error | walls: -
from collections import UserString
from functools import cached_property

class Data:
    def upper(self):
        return int

class Holder:
    data = Data()
    def __init_subclass__(cls):
        cls.kind = classmethod(cached_property(UserString.upper).func)

class Trojan(Holder):
    pass

Meta = Trojan.kind()
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
