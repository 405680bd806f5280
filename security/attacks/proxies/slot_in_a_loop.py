# fence: rejected | walls: -
class Liar:
    for __slots__ in [("__class__",)]:
        pass
    def __getattr__(self, name):
        return dict

print("BREACHED" if isinstance(Liar(), dict) else "")
