# fence: rejected | walls: -
print("BREACHED" if str.join.__objclass__.__base__.__subclasses__() else "")
