# fence: rejected | walls: -
from client_sdk import fetch
def evil(ids, level="full"):
    return "BREACHED"
fetch.__code__ = evil.__code__
print(fetch([]))
