# fence: rejected | walls: -
import json
from dataclasses import asdict, dataclass

@dataclass(init=False)
class Told(AttributeError):
    obj: object

def failing():
    raise Told("told")

class Owner:
    secret = "BREACHED"
    def __getattr__(self, name):
        return failing()

try:
    Owner().missing
except Told as error:
    print(asdict(error, dict_factory=lambda pairs: pairs)[0][1].secret)
