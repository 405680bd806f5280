# fence: rejected | walls: -
from collections.abc import Generator
match [(1 for _ in ())]:
    case [Generator(gi_code=code)]:
        print("BREACHED" if code.co_consts is not None else "")
