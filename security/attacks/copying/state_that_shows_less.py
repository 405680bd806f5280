# fence: rejected | walls: -
import copy

class Made:
    pass

class Slots(dict):
    def __iter__(self):
        return iter(())
    def items(self):
        return [("__match_args__", ("gi_frame",))]

class Box:
    pass

box = Box()
box.__dict__["__reduce_ex__"] = lambda protocol: (lambda: Made, (), (None, Slots(x=1)))
copy.copy(box)
print("BREACHED" if Made.__match_args__ else "")
