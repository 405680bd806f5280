# fence: rejected | walls: -
from abc import ABC
class Framed(ABC):
    __match_args__ = ("gi_frame",)
generator = (1 for _ in ())
Framed.register(type(generator))
match generator:
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
