# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
from decimal import Decimal
started = time.monotonic()
int(Decimal("1e130000"))
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
