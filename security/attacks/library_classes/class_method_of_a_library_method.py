# fence: error | walls: -
from collections import UserList

class Trojan:
    again = classmethod(UserList.copy)

Meta = Trojan.again()
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
