# fence: rejected | walls: -
import copy
from types import SimpleNamespace

class Mine:
    pass

class Other:
    def __str__(self):
        return "BREACHED"

mine = Mine()
namespace = SimpleNamespace()
namespace.__dict__["__reduce_ex__"] = lambda protocol: (lambda: mine, (), (None, {"__class__": Other}))
copy.copy(namespace)
print(mine)
