# fence: rejected | walls: -
from collections import Counter
Counter.most_common = lambda self: "BREACHED"
print(Counter().most_common())
