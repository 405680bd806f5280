# surface: held
# The reader makes sockets of its own.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
socket.socketpair()
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
