# fence: rejected | walls: -
import copy
import json

class Trojan:
    made = False
    def __new__(cls):
        return json if cls.made else super().__new__(cls)

trojan = Trojan()
trojan.dumps = lambda value: "BREACHED"
Trojan.made = True
copy.copy(trojan)
print(json.dumps(1))
