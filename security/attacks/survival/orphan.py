# fence: rejected | walls: error
import os
if os.fork() == 0:
    os.setsid()
    print("BREACHED", flush=True)
    os._exit(0)
os.wait()
