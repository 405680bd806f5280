# fence: rejected | walls: ok
import atexit
atexit.register(print, "BREACHED")
