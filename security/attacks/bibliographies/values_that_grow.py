# surface: held
# Macros that double, references in a circle, a million keywords: a bibliography of a few lines fills the memory.
from winnow.server.bibliographies.reading import read_bibliography

DOUBLING = '@string{m0 = "xxxxxxxxxx"}\n' + "".join(f"@string{{m{n} = m{n - 1} # m{n - 1}}}\n" for n in range(1, 80))
CIRCLE = "@a{a, crossref={b}}\n@a{b, crossref={c}}\n@a{c, crossref={a}}\n@a{d, crossref={d}}\n"


def control():
    # A reader that replaces macros and follows references as they stand.
    lengths = [10]
    for _ in range(79):
        lengths.append(2 * lengths[-1])
    parents, key, steps = {"a": "b", "b": "c", "c": "a"}, "a", 0
    while key in parents and steps < 10_000:
        key, steps = parents[key], steps + 1
    return lengths[-1] > 2**80 and steps == 10_000


def surface():
    words = ",".join(f"k{number}" for number in range(1_000_000))
    names = " and ".join(f"A{number}, B" for number in range(50_000))
    text = f"{DOUBLING}{CIRCLE}@a{{k, title=m79, keywords={{{words}}}, author={{{names}}}, groups={{{words}}}}}"
    read = read_bibliography(text, ".bib")
    (item,) = (each for each in read.items if each.citekey == "k")
    bounds = (len(item.title) <= 500, len(item.tags) <= 100, len(item.creators) <= 1_000, len(item.collections) <= 100)
    return not all(bounds) or len(read.items) != 5
