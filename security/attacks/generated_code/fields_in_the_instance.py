# fence: ok | walls: -
from dataclasses import dataclass, replace

@dataclass(init=False)
class Told(Exception):
    text: str = ""
    def __init__(self, **given):
        Told.given = given

class Named:
    name = "__traceback__"
    init = True
    _field_type = None

try:
    raise Told()
except Told as error:
    error.__dict__["__dataclass_fields__"] = {"text": Named()}
    replace(error)
print("BREACHED" if "traceback object" in str(Told.given) else Told.given)
