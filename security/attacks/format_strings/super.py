# fence: rejected | walls: -
class Text(str):
    def walk(self, *things):
        return super().format(*things)
text = Text("{0.__class__.__base__.__subclasses__}").walk(())
print("BREACHED" if "built-in" in text else text)
