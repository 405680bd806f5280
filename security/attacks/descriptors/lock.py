# fence: rejected | walls: error
import fcntl
fcntl.flock(0, fcntl.LOCK_SH)
print("BREACHED")
