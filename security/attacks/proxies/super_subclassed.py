# fence: error | walls: -
class Up(super):
    pass

class Text(str):
    pass

text = Up(Text, Text("{0.__class__.__base__.__subclasses__}")).format(())
print("BREACHED" if "built-in" in text else text)
