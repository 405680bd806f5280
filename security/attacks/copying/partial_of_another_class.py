# fence: rejected | walls: -
import copy
from functools import partial

class Mine:
    pass

class Other:
    def __str__(self):
        return "BREACHED"

class Call(partial):
    pass

mine = Mine()
call = Call(print)
call.__dict__["__reduce_ex__"] = lambda protocol: (lambda: mine, (), (None, {"__class__": Other}))
copy.copy(call)
print(mine)
