# fence: error | walls: -
from collections import UserList
from contextlib import contextmanager

wrapper = contextmanager(UserList)
Meta = wrapper.copy(int)
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
