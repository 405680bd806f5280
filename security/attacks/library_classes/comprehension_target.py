# fence: rejected | walls: -
import string
[0 for string.digits in ["BREACHED"]]
print(string.digits)
