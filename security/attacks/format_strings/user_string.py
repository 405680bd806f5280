# fence: rejected | walls: -
from collections import UserString
class Box2:
    def __init__(self):
        pass
text = str(UserString("{0.__init__.__globals__}").format(Box2()))
print("BREACHED" if "__name__" in text or "__builtins__" in text else text)
