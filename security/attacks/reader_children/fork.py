# surface: held
# The reader forks.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
child = os.fork()
if child == 0:
    os._exit(0)
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
