# fence: error/rejected | walls: -
import sys
from enum import Enum

class Slot:
    def __get__(self, instance, owner):
        return 1

class Base:
    gi_frame = Slot()

class Color(Base, Enum):
    gi_frame = 1

def generator():
    yield

class Holder:
    pass

Holder.read = vars(Color)["gi_frame"]
holder = Holder()
holder._value_ = generator()
# Before 3.12 the library does not read the name of a member from its value.
frame = holder.read if sys.version_info >= (3, 12) else getattr(holder._value_, "gi_frame")
print("BREACHED" if "frame" in str(frame) else frame)
