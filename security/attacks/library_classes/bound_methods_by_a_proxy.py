# fence: rejected | walls: -
from types import MappingProxyType

class Spy(dict):
    def __eq__(self, other):
        found.append(other)
        return False
    __hash__ = None

found = []

class Trojan:
    called = classmethod(MappingProxyType(Spy()))

from collections import UserString
UserString("text").encode == Trojan.called
print("BREACHED" if found else "")
