# fence: error | walls: -
from abc import ABC
from dataclasses import dataclass
@dataclass
class Formatted(ABC):
    format: str = ""
class Text(ABC):
    pass
Formatted.register(str)
match "{0.__class__.__base__.__subclasses__}":
    case Formatted(walk):
        print("BREACHED" if "built-in" in walk(()) else "")
