# fence: rejected | walls: -
import copy
class Box:
    def __reduce_ex__(self, protocol):
        return print, ("BREACHED",)
copy.copy(Box())
