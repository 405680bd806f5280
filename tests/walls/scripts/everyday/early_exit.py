import sys


def main():
    for n in range(5):
        if n == 3:
            print("leaving at", n)
            sys.exit()
        print(n)


main()
print("never")
