# fence: ok | walls: -
from __future__ import annotations
from functools import singledispatch
@singledispatch
def show(x):
    pass
try:
    @show.register
    def _(x: print("BREACHED")):
        pass
except TypeError:
    pass
