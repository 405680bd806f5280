# fence: rejected | walls: error
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
print("BREACHED")
