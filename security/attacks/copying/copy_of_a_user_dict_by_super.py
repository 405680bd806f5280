# fence: rejected | walls: -
from collections import UserDict

class Taken:
    pass

taken = Taken()

class Trojan(UserDict):
    made = False
    def __new__(cls):
        return taken if cls.made else super().__new__(cls)
    def again(self):
        return super().__copy__()

trojan = Trojan()
trojan.__dict__["__class__"] = 1
Trojan.made = True
trojan.again()
print("BREACHED" if "__class__" in taken.__dict__ else "")
