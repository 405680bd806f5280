# surface: held
# The reader answers with 100 MB of nested lists.
from winnow.security.reader_attack import answer_plainly, behind_walls, peak_mb

CODE = "send(b'[' * 100_000_000)"


def control():
    return len(answer_plainly(CODE, seconds=30.0)) > 90_000_000


def surface():
    reason, next_one = behind_walls(CODE, "found = 'read'")
    return not reason.startswith("!") or next_one != "read" or peak_mb() > 300
