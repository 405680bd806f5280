# fence: rejected | walls: -
from collections import UserString

class Spy:
    def __eq__(self, other):
        found.append(other)
        return False
    __hash__ = None

found = []

class Trojan:
    called = classmethod(Spy())

UserString("text").encode == Trojan.called
print("BREACHED" if found else "")
