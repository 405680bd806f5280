# fence: rejected | walls: -
import json
from collections import UserDict

class Trojan(UserDict):
    made = False
    def __new__(cls):
        return json if cls.made else super().__new__(cls)

trojan = Trojan()
trojan.dumps = lambda value: "BREACHED"
Trojan.made = True
trojan.__copy__()
print(json.dumps(1))
