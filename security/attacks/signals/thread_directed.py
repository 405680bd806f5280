# fence: rejected | walls: crashed
import signal, threading
signal.pthread_kill(threading.get_ident(), 0)
print("BREACHED")
