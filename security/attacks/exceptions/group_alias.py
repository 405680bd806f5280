# fence: rejected | walls: -
class Group(ExceptionGroup[Exception]):
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
