# fence: rejected | walls: -
Alias = type(list[int])
text = Alias(str, (int,)).format("{0.__class__.__base__.__subclasses__}", ())
print("BREACHED" if "built-in" in text else text)
