# fence: error | walls: -
from collections import UserList

class Mine(UserList):
    pass

Meta = super(Mine, Mine).copy(int)
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
