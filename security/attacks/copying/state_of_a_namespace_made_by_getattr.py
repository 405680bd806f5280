# fence: ok/rejected | walls: -
import copy

class Other:
    def __str__(self):
        return "BREACHED"

class Box:
    def __getattr__(self, name):
        if name == "__setstate__":
            return lambda state: Box.seen.append(state)
        raise AttributeError(name)

Box.seen = []
box = Box()
box.x = 1
box.__dict__["__getstate__"] = lambda: (None, {"__class__": Other})
found = copy.copy(box)
for state in Box.seen:
    print(state[1]["__class__"]())
print(found)
