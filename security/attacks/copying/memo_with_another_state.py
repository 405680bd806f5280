# fence: error | walls: -
import copy

class Other:
    def __str__(self):
        return "BREACHED"

class Box:
    def __init__(self):
        self.x = 1

class Memo(dict):
    asked = 0
    def get(self, key, default=None):
        Memo.asked += 1
        return (None, {"__class__": Other}) if Memo.asked == 3 else default

print(copy.deepcopy(Box(), Memo()))
