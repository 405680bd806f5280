# fence: rejected/error | walls: timeout | limits: wall_seconds=1
import sys
import time
sys.set_int_max_str_digits(0)
started = time.monotonic()
for _ in range(8):
    str(3**300_000)
print("BREACHED" if time.monotonic() - started > 1 else "too quick")
