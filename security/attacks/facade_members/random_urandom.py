# fence: error | walls: ok
import random
print("BREACHED" if random.SystemRandom else "")
