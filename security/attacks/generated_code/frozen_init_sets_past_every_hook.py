# fence: error | walls: -
import json
from dataclasses import dataclass

@dataclass(frozen=True)
class Writer:
    dumps: object

Writer.__init__(json, lambda value: "BREACHED")
print(json.dumps(1))
