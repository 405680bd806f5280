# fence: error | walls: -
# Code in C does not expect an object that was made and not initialised: called, this one is a null pointer.
made = staticmethod.__new__(staticmethod)
print("BREACHED" if type(made) is staticmethod else "")
