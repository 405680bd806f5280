# fence: rejected | walls: -
from contextlib import contextmanager
@contextmanager
def own():
    yield
print("BREACHED" if own.__closure__[0].cell_contents else "")
