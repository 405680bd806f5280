# fence: error | walls: -
from enum import Enum
from numbers import Number

class Trojan(Enum):
    def __new__(cls, value):
        return Number
    EVIL = "BREACHED"

print(Number._value_)
