# surface: held
# The reader opens its file again, for writing.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
os.open(f"/proc/self/fd/{DOCUMENT}", os.O_RDWR)
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
