# fence: error | walls: -
from collections import namedtuple
class Name(str):
    def split(self, *rest):
        print("BREACHED")
        return ["x"]
    def replace(self, *rest):
        return self
namedtuple("Made", Name("x, y"))._fields[5]
