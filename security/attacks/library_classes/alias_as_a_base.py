# fence: error/rejected | walls: -
# A base that says it has bases is looked up among classes, with a hash of its choice: `type` has one near others.
from typing import Annotated

class Spy:
    def __eq__(self, other):
        found.append(other)
        return False
    def __hash__(self):
        return code
    def __getattr__(self, name):
        return ()

found = [type]
for code in range(hash(int) - 4_000, hash(int) + 4_000):
    try:
        class Below(Annotated[Spy(), 1]):
            pass
    except TypeError:
        pass
Meta = [each for each in found if str(each) == "<class 'type'>"][-1]
print(Meta("Made", (), {"__str__": lambda self: "BREACHED"})())
