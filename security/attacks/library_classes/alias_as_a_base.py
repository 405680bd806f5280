# fence: error/rejected | walls: -
from typing import Annotated

class Spy:
    def __eq__(self, other):
        found.append(other)
        return False
    def __hash__(self):
        return code

found = [type]
for code in range(32):
    try:
        class Below(Annotated[Spy(), 1]):
            pass
    except TypeError:
        pass
Meta = [each for each in found if str(each) == "<class 'type'>"][-1]
print(Meta("Made", (), {"__str__": lambda self: "BREACHED"})())
