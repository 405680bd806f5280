class Account:
    __count = 0
    _registry = []

    def __init__(self, owner):
        self.__balance = 0
        self._owner = owner
        Account.__count += 1
        self._registry.append(owner)

    def __check(self, amount):
        return amount > 0

    def deposit(self, amount):
        if self.__check(amount):
            self.__balance += amount
        return self

    @property
    def balance(self):
        return self.__balance

    @classmethod
    def count(cls):
        return cls.__count

    @staticmethod
    def _helper(x):
        return x * 2


a = Account("ann").deposit(5).deposit(-3)
Account("bob")
print(a.balance, Account.count(), a._owner, Account._registry, Account._helper(4))
print(a._Account__balance, sorted(vars(a)))
try:
    a.__balance
except AttributeError as error:
    print(error)
_private, __mangled = 1, 2
print(_private, __mangled)
