import sys

print("to stderr", file=sys.stderr)
print(sys.maxsize, sys.version_info >= (3, 11), sys.version_info.major, sys.version.split(".")[0], sys.float_info.epsilon, sys.byteorder, sys.platform)
sys.stdout.write("written\n")
sys.stdout.flush()
print(sys.getrecursionlimit(), sys.getsizeof(0) > 0, sys.int_info.bits_per_digit > 0, sys.stdout.isatty(), sys.getdefaultencoding())
sys.setrecursionlimit(2000)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


print(deep(1500), sys.getrecursionlimit())


def main():
    if len(sys.argv) > 1:
        print("arguments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
