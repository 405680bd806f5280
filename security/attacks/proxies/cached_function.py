# fence: rejected | walls: -
from functools import lru_cache
text = lru_cache(str).format("{0.__class__.__base__.__subclasses__}", ())
print("BREACHED" if "built-in" in text else text)
