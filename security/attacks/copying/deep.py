# fence: rejected | walls: -
import copy
from collections import Counter

class Box:
    pass

box = Box()
box.__dict__["__reduce_ex__"] = lambda protocol: (lambda: Counter, (), (None, {"most_common": lambda self: "BREACHED"}))
copy.deepcopy([{"deep": (box,)}])
print(Counter().most_common())
