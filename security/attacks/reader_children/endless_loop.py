# surface: held
# The reader never ends; the next file is read all the same.
from winnow.security.reader_attack import answer_plainly, behind_walls

CODE = """
while True:
    pass
"""


def control():
    return answer_plainly(CODE, seconds=5.0) == b""


def surface():
    endless, next_one = behind_walls(CODE, "found = 'read'", seconds=2.0)
    return not endless.startswith("! takes longer than 2 s") or next_one != "read"
