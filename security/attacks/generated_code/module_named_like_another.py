# fence: rejected | walls: -
__name__ = "os"
from dataclasses import dataclass

@dataclass
class Made:
    x: int

print("BREACHED" if Made.__init__.__globals__.get("listdir") else "")
