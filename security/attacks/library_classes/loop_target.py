# fence: rejected | walls: -
from collections import Counter
for Counter.most_common in [lambda self: "BREACHED"]:
    pass
print(Counter().most_common())
