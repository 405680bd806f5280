# fence: error | walls: -
from collections import Counter
from calendar import Calendar
Calendar.setfirstweekday(Counter, 5)
print("BREACHED" if vars(Counter)["_firstweekday"] == 5 else "")
