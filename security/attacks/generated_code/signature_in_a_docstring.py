# fence: ok | walls: -
from dataclasses import dataclass

class Base:
    "Base(x=sys.prefix)\n--\n\n"

@dataclass(init=False)
class Told(Base):
    pass

print("BREACHED" if "/" in Told.__doc__ else Told.__doc__)
