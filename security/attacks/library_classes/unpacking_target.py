# fence: rejected | walls: -
import json
from collections import Counter
(first, *Counter.most_common), json.evil = (1, "BREACHED"), 2
print(*Counter.most_common)
