# surface: held
# The reader starts a thread.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
thread = threading.Thread(target=int)
thread.start()
thread.join()
found = "BREACHED"
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
