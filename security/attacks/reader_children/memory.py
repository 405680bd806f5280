# surface: held
# The reader takes 3 GiB of memory.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
pages = [mmap.mmap(-1, 1 << 28, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(12)]
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
