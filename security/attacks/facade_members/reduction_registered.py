# fence: rejected | walls: -
import copy
import copyreg
class Box:
    pass
copyreg.pickle(Box, lambda box: (print, ("BREACHED",)))
copy.copy(Box())
