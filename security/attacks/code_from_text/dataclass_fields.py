# fence: rejected | walls: error
from dataclasses import dataclass
class Row:
    pass
Row.__annotations__ = {"x = __import__('os').listdir('/')) -> (None": int}
Row.__annotations__ = {"x": int}
import os
print("BREACHED" if os.listdir("/") else "")
