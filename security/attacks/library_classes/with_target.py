# fence: rejected | walls: -
from collections import Counter
from contextlib import nullcontext
with nullcontext(lambda self: "BREACHED") as Counter.most_common:
    pass
print(Counter().most_common())
