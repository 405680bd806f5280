# fence: rejected | walls: -
import random
seen = random._inst
print("BREACHED" if seen is random.random.__self__ else "")
