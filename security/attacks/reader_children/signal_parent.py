# surface: held
# The reader signals its parent.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
os.kill(os.getppid(), 0)
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
