# fence: rejected | walls: error
import signal
signal.setitimer(signal.ITIMER_VIRTUAL, 3600)
print("BREACHED")
