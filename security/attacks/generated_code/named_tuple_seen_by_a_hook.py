# fence: rejected | walls: -
from abc import ABC
from collections.abc import Generator
from typing import NamedTuple
Fields = NamedTuple("Fields", [("gi_frame", int)])

class Hook(ABC):
    def __init_subclass__(cls):
        cls.register(Generator)
        match (1 for _ in ()):
            case cls(frame):
                print("BREACHED" if "frame" in str(frame) else frame)

class Framed(Fields, Hook):
    pass
