# fence: rejected | walls: -
Meta = type(type(1))
print("BREACHED" if Meta.__subclasses__(Meta) is not None and Meta.mro(int) else "")
