# fence: error | walls: -
from collections import UserList
from functools import singledispatch

@singledispatch
def show(x):
    return None

show.register(type, UserList.copy)
Meta = show(int)
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
