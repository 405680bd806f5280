# fence: rejected/error | walls: timeout | limits: wall_seconds=0.1
import sys
import time
sys.set_int_max_str_digits(0)
started = time.monotonic()
str(3**350_000)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
