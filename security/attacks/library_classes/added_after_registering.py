# fence: error | walls: -
from collections import UserList

class Data:
    def __add__(self, other):
        return int

class Trojan:
    data = Data()

UserList.register(type)
Meta = UserList.__add__(Trojan, [])
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
