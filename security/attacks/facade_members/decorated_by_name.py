# fence: rejected | walls: -
import functools
class Got:
    pass
found = functools.update_wrapper(Got(), (1 for _ in ()), ("gi_frame",), ())
print("BREACHED" if "frame" in str(found.gi_frame) else "")
