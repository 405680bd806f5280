# fence: rejected | walls: error
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("BREACHED"))
signal.raise_signal(signal.SIGUSR1)
