# fence: rejected | walls: error/crashed
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: print("BREACHED"))
os.kill(os.getpid(), signal.SIGUSR1)
