# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import random
started = time.monotonic()
class Liar:
    def __lt__(self, other):
        return random.random() < 0.5
sorted(Liar() for _ in range(220_000))
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
