# fence: error | walls: -
import random
print("BREACHED" if random.SystemRandom else "")
