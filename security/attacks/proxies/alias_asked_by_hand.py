# fence: error | walls: -
from typing import List
Alias = type(List[int])
alias = List[int]
print("BREACHED" if Alias.__getattr__(alias, "mro")() else "")
