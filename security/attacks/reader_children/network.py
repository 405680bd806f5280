# surface: held
# The reader opens a socket of the network.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
