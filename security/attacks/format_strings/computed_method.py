# fence: rejected | walls: -
name = "for" + "mat"
text = getattr("{0.__class__.__mro__}", name)(1)
print("BREACHED" if "object" in text else text)
