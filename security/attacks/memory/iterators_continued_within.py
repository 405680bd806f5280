# fence: ok | walls: -
# CPython issues 142732 and 143543: these iterators use freed memory when an iterator or a key within goes on with them.
import itertools

OURS = (itertools.zip_longest([1]), itertools.islice([1], 1), itertools.groupby([1]))
print("BREACHED" if any(type(each).__name__ != "generator" for each in OURS) else "")
