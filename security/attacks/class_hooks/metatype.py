# fence: rejected | walls: -
from abc import ABC
Made = type(ABC)("Made", (), {"__init__": lambda self: print("BREACHED")})
Made()
