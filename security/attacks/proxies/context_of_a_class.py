# fence: rejected | walls: -
from contextlib import contextmanager
text = contextmanager(str).format("{0.__class__.__base__.__subclasses__}", ())
print("BREACHED" if "built-in" in text else text)
