# fence: error | walls: -
from collections import ChainMap
from textwrap import TextWrapper
TextWrapper.__init__(ChainMap, width=5)
print("BREACHED" if ChainMap.width == 5 else "")
