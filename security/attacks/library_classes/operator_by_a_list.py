# fence: rejected | walls: -
found = []

class Spy:
    __eq__ = found.append

Spy() == type
print(found[0]("Made", (), {"__str__": lambda self: "BREACHED"})())
