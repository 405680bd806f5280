# fence: error | walls: -
import string
text = string.Formatter().format("{0.__class__.__base__.__subclasses__}", ())
print("BREACHED" if "built-in" in text else text)
