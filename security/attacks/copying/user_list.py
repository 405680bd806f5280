# fence: rejected | walls: -
import math
from collections import UserList

class Trojan(UserList):
    made = False
    def __new__(cls):
        return math if cls.made else super().__new__(cls)

trojan = Trojan()
trojan.sqrt = lambda value: "BREACHED"
Trojan.made = True
trojan.__copy__()
print(math.sqrt(4))
