# fence: rejected | walls: -
from dataclasses import asdict, dataclass, fields

@dataclass
class Base:
    x: int = 0

@dataclass
class Thief:
    y: object = fields(Base)[0]

class Told(Base):
    y = "BREACHED"

print(asdict(Told()))
