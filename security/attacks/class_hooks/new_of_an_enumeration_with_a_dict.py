# fence: error | walls: -
from enum import Enum

def told():
    return "kept"

class Mixed:
    def __new__(cls, *given):
        return told

class Trojan(Mixed, Enum):
    A = 1

print("BREACHED" if hasattr(told, "_sort_order_") else "")
