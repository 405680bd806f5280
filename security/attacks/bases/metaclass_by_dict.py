# fence: rejected | walls: -
class Meta(type):
    def __call__(cls):
        return "BREACHED"

keywords = {"metaclass": Meta}
class Made(**keywords):
    pass
print(Made())
