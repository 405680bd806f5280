# fence: rejected/error | walls: -
from enum import Enum

class Note:
    def __set_name__(self, owner, name):
        owner._member_type_ = str
        seen.append(owner._member_type_)
    def __get__(self, instance, owner):
        return 1

seen = []

class Color(Enum):
    note = Note()
    RED = 1

print("BREACHED" if seen else "")
