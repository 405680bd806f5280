# fence: error | walls: -
import decimal
decimal.getcontext().prec = 2
print("BREACHED" if str(decimal.Decimal(1) / 3) == "0.33" else "")
