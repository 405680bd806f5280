# fence: error | walls: -
from functools import lru_cache
Meta = type(type(1))
print("BREACHED" if object in lru_cache(Meta).mro(int) else "")
