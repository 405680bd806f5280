# fence: rejected | walls: -
from dataclasses import dataclass, fields

@dataclass
class Text(str):
    format: object

real = fields(Text)[0].default
print("BREACHED" if "built-in" in real("{0.__class__.__init_subclass__}", 1) else "")
