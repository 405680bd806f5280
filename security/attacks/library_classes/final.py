# fence: rejected | walls: -
from collections import OrderedDict, UserDict
from typing import final
final(UserDict)
print("BREACHED" if vars(UserDict)["__final__"] else "")
