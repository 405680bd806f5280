import random
random.seed("a"); print(random.random(), random.Random(b"x").random())
