# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
started = time.monotonic()
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(33)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
