# fence: rejected | walls: -
from dataclasses import dataclass

@dataclass(frozen=True)
class Reader:
    gi_code: object

print("BREACHED" if Reader.__hash__(1 for _ in ()) else "")
