# fence: rejected | walls: -
class Text(str):
    pass
class Box2:
    def __init__(self):
        pass
class Catch:
    def __radd__(self, found):
        self.found = found
        return self
catch, text = Catch(), Text("{0.__init__.__globals__}")
text.format += catch
found = catch.found(Box2())
print("BREACHED" if "__name__" in found or "__builtins__" in found else found)
