# fence: ok | walls: -
class Spy(str):
    names = set()
    def __hash__(self):
        return hash("os")
    def __eq__(self, other):
        self.names.add(other)
        return False
__name__ = Spy("x")
from dataclasses import dataclass
try:
    @dataclass
    class Box:
        x: int
except Exception:
    pass
print("BREACHED" if "os" in Spy.names else "")
