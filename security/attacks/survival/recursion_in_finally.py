# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
def again():
    try:
        if time.monotonic() < end:
            again()
    finally:
        if time.monotonic() < end:
            again()
try:
    again()
except RecursionError:
    pass
print("BREACHED")
