# fence: rejected/error | walls: timeout | limits: wall_seconds=1
import sys
import time
sys.set_int_max_str_digits(0)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    str(3**300_000)
print("BREACHED")
