# fence: error | walls: -
from collections import UserString

class Data:
    def lower(self):
        return (1 for _ in ())

class Trojan:
    data = Data()

found = UserString.lower(Trojan)
print("BREACHED" if found.__name__ == "generator" else found)
