# fence: rejected | walls: -
import copy

class Made:
    pass

class Pair(tuple):
    def __iter__(self):
        return iter((None, {"__match_args__": ("gi_frame",)}))

class Box:
    pass

box = Box()
box.__dict__["__reduce_ex__"] = lambda protocol: (lambda: Made, (), Pair((None, None)))
copy.deepcopy(box)
print("BREACHED" if Made.__match_args__ else "")
