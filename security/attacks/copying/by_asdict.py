# fence: rejected | walls: -
from collections import Counter
from dataclasses import asdict, dataclass

class Box:
    pass

@dataclass
class Holder:
    box: object

box = Box()
box.__dict__["__reduce_ex__"] = lambda protocol: (lambda: Counter, (), (None, {"most_common": lambda self: "BREACHED"}))
asdict(Holder(box))
print(Counter().most_common())
