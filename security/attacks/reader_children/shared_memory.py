# surface: held
# The reader makes memory that outlives it.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
libc = ctypes.CDLL(None)
number = libc.shmget(0, 4096, 0o1600)
if number >= 0:
    libc.shmctl(number, 0, None)
    found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
