# surface: held
# The reader announces a text of 4 GiB and sends without end.
from winnow.security.reader_attack import answer_plainly, behind_walls, peak_mb

CODE = """
send(json.dumps(FACTS).encode())
send(b"", length=2**32 - 1)
while True:
    os.write(RPC, b"x" * 65_536)
"""


def control():
    return len(answer_plainly(CODE, seconds=30.0)) > 1 << 27


def surface():
    reason, next_one = behind_walls(CODE, "found = 'read'")
    return not reason.startswith("!") or next_one != "read" or peak_mb() > 300
