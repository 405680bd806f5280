# fence: error | walls: -
import sys
sys.set_int_max_str_digits(0)
print("BREACHED" if len(str(10 ** 5000)) == 5001 else "")
