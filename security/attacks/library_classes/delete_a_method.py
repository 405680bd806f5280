# fence: rejected | walls: -
from collections import Counter
del Counter.most_common
print("BREACHED" if not hasattr(Counter, "most_common") else "")
