# fence: rejected | walls: -
class Text(str):
    shown = property(str.format_map)
    walk = str.format
text = Text("{0.__class__.__base__.__subclasses__}").walk(())
print("BREACHED" if "built-in" in text else text)
