# fence: rejected | walls: -
import pickle
pickle.loads(b"cbuiltins\neval\n(S'print(\"BREACHED\")'\ntR.")
