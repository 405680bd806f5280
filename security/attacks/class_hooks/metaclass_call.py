# fence: rejected | walls: -
from abc import ABCMeta
def reader(name):
    return ABCMeta("Reader", (), {"__match_args__": (name,), "__subclasshook__": classmethod(lambda cls, other: True)})
Framed, Global = reader("gi_frame"), reader("f_builtins")
match (1 for _ in ()):
    case Framed(frame):
        match frame:
            case Global(names):
                print("BREACHED" if "__import__" in names else names)
