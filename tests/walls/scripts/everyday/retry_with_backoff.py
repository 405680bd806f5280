import time


class Flaky:
    def __init__(self, failures):
        self.failures = failures

    def __call__(self):
        if self.failures:
            self.failures -= 1
            raise ConnectionError(f"{self.failures} left")
        return "done"


def retry(fn, attempts=3, delay=0.001):
    for attempt in range(1, attempts + 1):
        try:
            return fn()
        except ConnectionError as error:
            print(f"attempt {attempt}: {error}")
            if attempt == attempts:
                raise
            time.sleep(delay * 2**attempt)


print(retry(Flaky(2)))
try:
    retry(Flaky(9))
except ConnectionError as error:
    print("failed:", error, isinstance(error, OSError))
