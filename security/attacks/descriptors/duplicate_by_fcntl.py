# fence: rejected | walls: error
import fcntl
fcntl.fcntl(3, fcntl.F_DUPFD, 0)
print("BREACHED")
