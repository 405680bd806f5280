# fence: rejected | walls: -
from collections import UserString

class Outer(UserString):
    pass

outer = Outer("")
outer.data = UserString("{0.__class__.__base__.__subclasses__}")
text = str(outer.format(()))
print("BREACHED" if "built-in" in text else text)
