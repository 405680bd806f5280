# fence: ok | walls: -
import copy
from collections import defaultdict

class Factory:
    def __call__(self):
        return "kept"
    def __deepcopy__(self, memo):
        return lambda: "BREACHED"

print(copy.deepcopy(defaultdict(Factory()))["missing"])
