# fence: ok | walls: -
import copy
from collections import Counter

class Keeper:
    def __deepcopy__(self, memo):
        Keeper.memo = memo
        return self

counter = Counter("a")
copy.deepcopy([Keeper(), counter])
for key in list(Keeper.memo):
    Keeper.memo[key] = "BREACHED"
Keeper.memo[id(counter)] = "BREACHED"
print(copy.deepcopy(counter, Keeper.memo))
