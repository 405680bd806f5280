# fence: rejected | walls: -
from functools import singledispatch

@singledispatch
def show(x):
    pass

@show.register
def _(x: "type"):
    pass

Meta = [cls for cls in show.registry if cls.__name__ == "type"][0]
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
