# fence: ok | walls: -
from functools import wraps
def own():
    pass
found = wraps(print, assigned=("__self__",))(own)
print("BREACHED" if found.__dict__.get("__self__") else "")
