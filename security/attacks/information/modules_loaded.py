# fence: error | walls: -
class Spy:
    names = set()
    def __hash__(self):
        return hash("os")
    def __eq__(self, other):
        self.names.add(other)
        return False
import sys
sys.modules.get(Spy())
print("BREACHED" if "os" in Spy.names else "")
