# fence: rejected | walls: -
text = "".join(map("{0.__class__.__base__.__subclasses__}".format, [()]))
print("BREACHED" if "built-in" in text else text)
