# fence: rejected | walls: error
import time
end = time.monotonic() + 0.3
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while time.monotonic() < end:
    pass
print("BREACHED")
