# fence: rejected | walls: -
import copy
from abc import ABC
from collections.abc import Generator
from types import SimpleNamespace

class Framed(ABC):
    pass

namespace = SimpleNamespace()
vars(namespace)["__reduce_ex__"] = lambda protocol: (lambda: Framed, (), (None, {"__match_args__": ("gi_frame",)}))
copy.deepcopy([namespace])
Framed.register(Generator)
match (1 for _ in ()):
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
