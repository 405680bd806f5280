import copy
from functools import lru_cache


@lru_cache(maxsize=2, typed=True)
def double(a, b=0):
    """Twice a."""
    print("called", repr(a), repr(b))
    return a * 2


print([double(each) for each in (1, 1.0, True, 1, 1, 1.0)], double.cache_info(), double.cache_parameters())
print(double(1, b=2), double(1, b=2.0), double(1, 2), double.cache_info().currsize)
double.cache_clear()
print(double.cache_info(), double.__name__, double.__doc__, double.__wrapped__(5), copy.deepcopy([double])[0] is double)


class Shop:
    @lru_cache(None, True)
    def price(self, item):
        print("price", item)
        return len(str(item))

    @classmethod
    @lru_cache(typed=True)
    def name(cls, item):
        return f"{cls.__name__} {item}"


shop = Shop()
print(shop.price(1), shop.price(1), shop.price(1.0), Shop.name("a"), Shop.name("a"), Shop.price.cache_info())


@lru_cache(maxsize=0, typed=True)
def never_kept(a):
    return a


print(never_kept(1), never_kept(1), never_kept.cache_info())


@lru_cache(typed=True)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


print(fibonacci(150))
try:
    lru_cache("many", typed=True)
except TypeError as error:
    print(error)
