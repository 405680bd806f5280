# fence: error | walls: -
import functools
import numbers
functools.total_ordering(numbers.Real)
print("BREACHED" if numbers.Real.__gt__ is not object.__gt__ else "")
