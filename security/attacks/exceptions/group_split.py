# fence: rejected | walls: -
class Group(ExceptionGroup):
    def split(self, what):
        print("BREACHED")
        return super().split(what)
try:
    try:
        raise Group("g", [ValueError()])
    except* ValueError:
        pass
except Exception:
    pass
