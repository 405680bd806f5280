# fence: rejected | walls: -
class Box:
    def __init__(self):
        pass
text = "{1[0].__init__.__globals__}".format(0, [Box()])
print("BREACHED" if "__name__" in text else text)
