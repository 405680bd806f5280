# fence: rejected | walls: error
import random
os = random._os
print("BREACHED" if os.listdir("/") else "empty")
