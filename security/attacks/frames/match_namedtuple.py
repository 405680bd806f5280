# fence: ok | walls: -
from abc import ABC
from collections import namedtuple
class Framed(namedtuple("Framed", "gi_frame"), ABC):
    pass
generator = (1 for _ in ())
Framed.register(type(generator))
match generator:
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
