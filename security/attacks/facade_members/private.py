# fence: rejected | walls: -
import random
print("BREACHED" if random._os else "")
