# fence: ok | walls: ok
class Text(str):
    def __str__(self):
        return "BREACHED"
    __repr__ = __str__
result = Text("harmless")
