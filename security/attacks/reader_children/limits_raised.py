# surface: held
# The reader raises its own limits.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
