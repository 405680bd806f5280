# fence: rejected | walls: -
from types import SimpleNamespace
asked = []
stand_in = SimpleNamespace(**{"__mro_entries__": lambda bases: asked.append(1) or (ExceptionGroup,)})

class Group(stand_in):
    def split(self, condition):
        print("BREACHED")
        return (None, self)

try:
    try:
        raise Group("group", [ValueError("inner")])
    except* ValueError:
        pass
except Exception:
    pass
