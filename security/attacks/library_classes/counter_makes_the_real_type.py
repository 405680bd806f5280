# fence: error | walls: -
from collections import Counter
Meta = Counter.copy(int)
Made = Meta("Made", (), {"__str__": lambda self: "BREACHED"})
print(Made())
