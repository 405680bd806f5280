def make(n):
    class Counter:
        start = n

        class Meta:
            label = f"from {n}"

        def __init__(self):
            self.value = self.start

        def bump(self, by=1):
            self.value += by
            return self

        def __call__(self):
            return self.value

    return Counter


A, B = make(1), make(10)
print(A().bump()(), B().bump(5)(), A.Meta.label, A is B, A.__name__, A.__qualname__, B.Meta.__qualname__)
print(type(A()).__name__, A().__class__ is A, [k for k in vars(A) if not k.startswith("__")])
