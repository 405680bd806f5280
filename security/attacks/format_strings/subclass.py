# fence: rejected | walls: -
class Text(str):
    pass
text = Text("{0.__class__.__base__.__subclasses__}").format(())
print("BREACHED" if "built-in" in text else text)
