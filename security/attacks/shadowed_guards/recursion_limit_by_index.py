# fence: ok | walls: -
import sys

class Limit:
    def __gt__(self, other):
        return False
    def __lt__(self, other):
        return True
    def __index__(self):
        return 10_000_000

sys.setrecursionlimit(Limit())
print("BREACHED" if sys.getrecursionlimit() > 3_000 else "")
