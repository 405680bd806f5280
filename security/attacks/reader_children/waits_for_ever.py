# surface: held
# The reader waits without computing; the next file is read all the same.
from winnow.security.reader_attack import answer_plainly, behind_walls

CODE = "time.sleep(3600)"


def control():
    return answer_plainly(CODE, seconds=5.0) == b""


def surface():
    waiting, next_one = behind_walls(CODE, "found = 'read'", seconds=2.0)
    return not waiting.startswith("! takes longer than 2 s") or next_one != "read"
