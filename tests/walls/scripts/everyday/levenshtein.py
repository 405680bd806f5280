def distance(a, b):
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        current = [i]
        for j, cb in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (ca != cb)))
        previous = current
    return previous[-1]


print(distance("kitten", "sitting"), distance("", "abc"), min(["apple", "apply", "ape"], key=lambda w: distance(w, "appel")))
