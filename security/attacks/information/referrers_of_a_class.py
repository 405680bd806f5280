# fence: rejected | walls: -
print("BREACHED" if object.__subclasses__() else "")
