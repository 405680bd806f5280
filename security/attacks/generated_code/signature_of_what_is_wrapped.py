# fence: ok | walls: -
from dataclasses import dataclass
from functools import wraps

class Known:
    "Known(y, x=sys.prefix)\n--\n\n"

class Base:
    @wraps(Known)
    def __init__(self):
        pass

@dataclass(init=False)
class Told(Base):
    pass

print("BREACHED" if "/" in Told.__doc__ else Told.__doc__)
