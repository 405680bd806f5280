# fence: rejected | walls: -
class Made:
    def __𝒓educe_ex__(self, protocol):
        return print, ("BREACHED",)
import copy
copy.copy(Made())
