# fence: rejected | walls: error
import signal
signal.sigtimedwait([signal.SIGUSR1], 0)
print("BREACHED")
