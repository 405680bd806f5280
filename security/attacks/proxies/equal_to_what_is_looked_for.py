# fence: rejected | walls: -
from collections import UserString

class Thief:
    def __init__(self):
        self.found = []
    def __eq__(self, other):
        self.found.append(other)
        return False
    __hash__ = None

thief = Thief()
[UserString.format] == [thief]
text = str(thief.found[0](UserString("{0.__class__.__base__.__subclasses__}"), ()))
print("BREACHED" if "built-in" in text else text)
