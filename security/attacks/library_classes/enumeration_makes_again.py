# fence: error | walls: -
from enum import Enum
from json import JSONDecoder

decoder = JSONDecoder()

class Trojan(Enum):
    def __new__(cls, *arguments):
        decoder.parse_constant
        return decoder
    def __init__(self, *arguments):
        pass
    A = ()

print("BREACHED" if hasattr(decoder, "_sort_order_") or decoder in Trojan.__dict__.values() or Trojan.A is decoder else "")
