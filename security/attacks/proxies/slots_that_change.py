# fence: rejected | walls: -
class Names(tuple):
    def __iter__(self):
        return iter(["__class__"])

class Liar:
    __slots__ = Names(["x"])
    def __getattr__(self, name):
        return str

print("BREACHED" if isinstance(Liar(), str) else "")
