from functools import lru_cache


@lru_cache(maxsize=None)
def ways(n, coins=(1, 5, 10, 25)):
    if n == 0:
        return 1
    if n < 0 or not coins:
        return 0
    return ways(n - coins[-1], coins) + ways(n, coins[:-1])


memo = {}


def fib(n):
    if n in memo:
        return memo[n]
    memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
    return memo[n]


print(ways(100), fib(90), ways.cache_info().misses > 0)
