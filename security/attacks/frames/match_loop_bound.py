# fence: rejected | walls: -
from abc import ABC
class Framed(ABC):
    for __match_args__ in [("gi_frame",)]:
        pass
generator = (1 for _ in ())
Framed.register(type(generator))
match generator:
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
