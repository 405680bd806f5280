class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"need {needed}, have {available}")
        self.missing = needed - available


class Account:
    interest = 0.02
    _next = 1

    def __init__(self, owner, balance=0):
        self.owner, self._balance = owner, balance
        self.number, Account._next = Account._next, Account._next + 1
        self.__history = []

    @property
    def balance(self):
        return self._balance

    def __move(self, amount, kind):
        self._balance += amount
        self.__history.append((kind, amount))

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.__move(amount, "deposit")

    def withdraw(self, amount):
        if amount > self._balance:
            raise InsufficientFunds(amount, self._balance)
        self.__move(-amount, "withdraw")

    @property
    def history(self):
        return tuple(self.__history)


class Savings(Account):
    interest = 0.05

    def year(self):
        self.deposit(round(self.balance * self.interest, 2))


a, b = Account("bo", 10), Savings("al", 100)
b.year()
for step in (lambda: a.withdraw(50), lambda: a.deposit(-1), lambda: setattr(a, "balance", 5)):
    try:
        step()
    except InsufficientFunds as e:
        print(e, e.missing)
    except (ValueError, AttributeError) as e:
        print(type(e).__name__, e)
print(a.number, b.number, b.balance, b.history, [x.owner for x in sorted([a, b], key=lambda x: -x.balance)])
