# fence: rejected | walls: -
class Liar:
    __slots__ = ("__class__",)
    def __getattr__(self, name):
        return int

print("BREACHED" if isinstance(Liar(), int) else "")
