# fence: rejected | walls: crashed
import os, signal
handle = os.pidfd_open(os.getpid())
signal.pidfd_send_signal(handle, 0)
print("BREACHED")
