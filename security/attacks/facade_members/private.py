# fence: rejected | walls: ok
import random
print("BREACHED" if random._os else "")
