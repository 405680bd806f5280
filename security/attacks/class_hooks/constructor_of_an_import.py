# fence: rejected | walls: -
from datetime import date


class Day(date):
    from operator import is_ as __new__


print("BREACHED" if Day(1) is False else "")
