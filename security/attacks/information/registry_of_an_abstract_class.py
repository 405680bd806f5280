# fence: rejected | walls: -
from collections.abc import Mapping
print("BREACHED" if Mapping._abc_impl else "")
