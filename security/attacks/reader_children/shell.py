# surface: held
# The reader runs a program.
from winnow.security.reader_attack import breaches, breaches_plainly

CODE = """
found = "BREACHED" if subprocess.run(["/bin/true"]).returncode == 0 else ""
"""


def control():
    return breaches_plainly(CODE)


def surface():
    return breaches(CODE)
