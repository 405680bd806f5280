# fence: rejected | walls: crashed
import os, signal, time
try:
    helper = os.fork()
except OSError:
    helper = -1
if helper == 0:
    time.sleep(0.3)
    os.kill(os.getppid(), signal.SIGCONT)
    os._exit(0)
os.kill(os.getpid(), signal.SIGSTOP)
print("BREACHED")
