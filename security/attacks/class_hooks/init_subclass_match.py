# fence: rejected | walls: -
from abc import ABC
class Base(ABC):
    def __init_subclass__(cls):
        cls.register(type(1 for _ in ()))
        match (1 for _ in ()):
            case cls(frame):
                print("BREACHED" if "frame" in str(frame) else frame)
class Framed(Base):
    __match_args__ = ("gi_" + "frame",)
