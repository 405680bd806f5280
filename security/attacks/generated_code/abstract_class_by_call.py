# fence: rejected | walls: -
from abc import ABCMeta
from collections.abc import Generator
Framed = ABCMeta("Framed", (), {"__match_args__": ("gi_frame",)})
Framed.register(Generator)
match (1 for _ in ()):
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
