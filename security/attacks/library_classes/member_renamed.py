# fence: error/rejected | walls: -
import sys
from enum import Enum

class Slot:
    def __get__(self, instance, owner):
        return 1

class Base:
    harmless = Slot()

class Color(Base, Enum):
    harmless = 1

def generator():
    yield

class Holder:
    pass

Holder.read = vars(Color)["harmless"]

class Rename:
    gi_frame = Holder.__dict__["read"]

holder = Holder()
holder._value_ = generator()
# Before 3.12 the library does not read the name of a member from its value.
frame = holder.read if sys.version_info >= (3, 12) else getattr(holder._value_, "gi_frame")
print("BREACHED" if "frame" in str(frame) else frame)
