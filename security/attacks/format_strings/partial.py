# fence: rejected | walls: -
from functools import partial
text = partial(str.format, "{0.__self__}")(print)
print("BREACHED" if "builtins" in text else text)
