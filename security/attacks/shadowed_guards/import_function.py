# fence: rejected | walls: -
def __import__(name, *rest):
    return "BREACHED"
print(__import__("os"))
