import re
from collections import defaultdict

clean = lambda s: re.sub(r"[^a-z]", "", s.lower())
print([clean(s) == clean(s)[::-1] for s in ("A man, a plan, a canal: Panama", "nope")])
groups = defaultdict(list)
for word in ["listen", "silent", "enlist", "google", "elgoog"]:
    groups["".join(sorted(word))].append(word)
print([g for g in groups.values() if len(g) > 1], max(groups.values(), key=len))
