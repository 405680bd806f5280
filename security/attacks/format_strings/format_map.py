# fence: rejected | walls: -
class Box2:
    def __init__(self):
        pass
text = "{x.__init__.__globals__}".format_map({"x": Box2()})
print("BREACHED" if "__name__" in text or "__builtins__" in text else text)
