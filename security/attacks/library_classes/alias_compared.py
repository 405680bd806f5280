# fence: error | walls: -
from typing import Annotated, Type

class Spy:
    def __eq__(self, other):
        found.append(other)
        return False
    def __hash__(self):
        return 1

found = []
Type[int] == Annotated[Spy(), 1]
Meta = [each for each in found if str(each) == "<class 'type'>"][0]
print(Meta("Made", (), {"__str__": lambda self: "BREACHED"})())
