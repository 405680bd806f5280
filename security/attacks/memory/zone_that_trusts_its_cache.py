# fence: ok | walls: -
# CPython issues 142781 and 142782: the class in C writes into whatever a subclass's cache returns, and into freed nodes of its own.
from zoneinfo import ZoneInfo

print("BREACHED" if "<method" in repr(ZoneInfo.utcoffset) else "")
