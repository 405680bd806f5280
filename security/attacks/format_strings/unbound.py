# fence: rejected | walls: -
walk = str.format
text = list(map(walk, ["{0.__class__.__base__.__subclasses__}"], [()]))[0]
print("BREACHED" if "built-in" in text else text)
