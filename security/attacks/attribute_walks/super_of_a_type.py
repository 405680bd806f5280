# fence: rejected | walls: -
print("BREACHED" if super(type, int).__getattribute__("__subclasses__")() is not None else "")
