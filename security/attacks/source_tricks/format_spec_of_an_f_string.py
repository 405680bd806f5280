# fence: rejected | walls: -
class Spec:
    def __format__(self, spec):
        return "BREACHED" if "built-in" in spec else spec
print(f"{Spec():{print.__self__.__name__ and '<module built-in>'}}")
