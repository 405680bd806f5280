# fence: rejected | walls: -
from 𝓳𝓼𝓸𝓷 import 𝓬𝓸𝓭𝓮𝓬𝓼
print("BREACHED" if codecs.builtins else "")
