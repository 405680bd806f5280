# fence: rejected | walls: error
import time
end = time.monotonic() + 0.3
import threading
def linger():
    while time.monotonic() < end:
        pass
    print("BREACHED")
threading.Thread(target=linger).start()
