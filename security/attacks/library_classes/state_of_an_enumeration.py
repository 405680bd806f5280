# fence: rejected | walls: -
from enum import Flag

class Told:
    pass

told = Told()

class Access(Flag):
    READ = 1
    WRITE = 2

Access._member_type_ = int
Access._new_member_ = lambda cls, *given: told
try:
    Access.READ | Access.WRITE
except Exception:
    pass
print("BREACHED" if vars(told) or Access._member_type_ is int else "")
