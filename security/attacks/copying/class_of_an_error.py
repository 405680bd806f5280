# fence: rejected | walls: -
import copy

class Told(Exception):
    pass

class Other(Exception):
    def __str__(self):
        return "BREACHED"

told = Told()
told.__dict__["__class__"] = Other
print(copy.copy(told))
