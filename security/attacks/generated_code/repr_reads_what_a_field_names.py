# fence: rejected | walls: -
from dataclasses import dataclass

@dataclass
class Reader:
    gi_frame: object

text = Reader.__repr__(1 for _ in ())
print("BREACHED" if "frame at" in text else text)
