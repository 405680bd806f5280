# surface: held
# The reader maps memory that it can run.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
