# fence: rejected | walls: -
from enum import Enum
print("BREACHED" if Enum("Made", {"x": 1}) else "")
