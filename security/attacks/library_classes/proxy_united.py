# fence: ok | walls: -
from dataclasses import field
from functools import singledispatch

class Thief:
    def __ror__(self, other):
        self.found = other
        return self

@singledispatch
def show(value):
    return "safe"

thief = Thief()
show.registry | thief
thief.found[object] = lambda value: "BREACHED"
try:
    field().metadata | thief
    thief.found["evil"] = 1
except TypeError:
    pass
print(show(1), "BREACHED" if "evil" in field().metadata else "")
