# fence: rejected | walls: -
from functools import lru_cache

def base():
    pass

base.__dict__["__mro_entries__"] = lambda bases: (ExceptionGroup,)

class Group(lru_cache(base)):
    def derive(self, errors):
        print("BREACHED")
        return ExceptionGroup("derived", errors)

try:
    raise Group("group", [ValueError("inner"), TypeError("other")])
except* ValueError:
    pass
except* TypeError:
    pass
