# fence: rejected | walls: -
from abc import ABC
from dataclasses import dataclass
@dataclass
class Framed(ABC):
    gi_frame: int = 0
generator = (1 for _ in ())
Framed.register(type(generator))
match generator:
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
