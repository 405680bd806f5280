# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
def stubborn():
    try:
        yield
    finally:
        while time.monotonic() < end:
            pass
generator = stubborn()
next(generator)
generator.close()
print("BREACHED")
