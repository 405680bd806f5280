# surface: held
# The reader opens a further descriptor.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
os.dup(DOCUMENT)
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
