# fence: rejected | walls: error
import errno, os
try:
    os.open(".", os.O_TMPFILE | os.O_RDWR)
except OSError as error:
    # Some file systems have no unnamed files, and say so.
    if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR):
        raise
print("BREACHED")
