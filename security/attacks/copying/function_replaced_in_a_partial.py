# fence: rejected | walls: -
import copy
from functools import partial

class Check:
    def __call__(self, text):
        return "kept"
    def __deepcopy__(self, memo):
        return print

copy.deepcopy(partial(Check()))("BREACHED")
