# fence: rejected | walls: -
class Liar:
    __slots__ = ["x"]
    __slots__.append("__class__")
    def __getattr__(self, name):
        return int

print("BREACHED" if isinstance(Liar(), int) else "")
