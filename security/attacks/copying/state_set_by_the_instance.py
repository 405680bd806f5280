# fence: rejected | walls: -
import copy

class Told:
    def __getattr__(self, name):
        if name == "__setstate__":
            return lambda state: print("BREACHED" if "__dict__" not in state else state)
        raise AttributeError(name)

told = Told()
told.key = 1
told.__dict__["__getstate__"] = lambda: {"key": 1, "__class__": 2}
copy.deepcopy(told)
