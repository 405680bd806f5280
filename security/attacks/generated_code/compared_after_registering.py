# fence: error | walls: -
import json
from abc import ABC
from dataclasses import dataclass

class Thief:
    found = None
    def __eq__(self, other):
        Thief.found = other
        return True

@dataclass
class Reader(ABC):
    obj: object

Reader.register(AttributeError)

def failing(owner):
    try:
        owner.nothing
    except AttributeError as error:
        return error

mine = AttributeError("nothing", name="nothing", obj=Thief())
Reader.__eq__(failing(json), mine)
print("BREACHED" if "module" in str(Thief.found) else Thief.found)
