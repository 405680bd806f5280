# fence: error | walls: -
from abc import abstractmethod
from collections import Counter
abstractmethod(Counter)
print("BREACHED" if getattr(Counter, "__isabstractmethod__") else "")
