# fence: rejected | walls: -
import random
print("BREACHED" if random.random.__self__.seed else "")
