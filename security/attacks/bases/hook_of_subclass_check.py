# fence: rejected | walls: -
from abc import ABC

class Any(ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return True

print("BREACHED" if isinstance(1, Any) else "")
