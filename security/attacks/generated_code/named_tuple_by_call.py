# fence: rejected | walls: -
from abc import ABC
from collections.abc import Generator
from typing import NamedTuple
Fields = NamedTuple("Fields", [("gi_frame", int)])

class Framed(Fields, ABC):
    pass

Framed.register(Generator)
match (1 for _ in ()):
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
