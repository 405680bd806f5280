# fence: rejected | walls: -
def base():
    pass

base.__dict__["__mro_entries__"] = lambda bases: (ExceptionGroup,)

class Group(base):
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
