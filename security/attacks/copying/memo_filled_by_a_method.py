# fence: ok | walls: -
import copy
from collections import Counter

held = Counter("a")

class Poison:
    def __deepcopy__(self, memo):
        memo[id(held)] = "BREACHED"
        return self

print(copy.deepcopy([Poison(), held])[1])
