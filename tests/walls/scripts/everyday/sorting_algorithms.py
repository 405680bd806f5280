def quick(items):
    if len(items) < 2:
        return items
    pivot, *rest = items
    return quick([x for x in rest if x < pivot]) + [pivot] + quick([x for x in rest if x >= pivot])


def merge_sort(items):
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right, out = merge_sort(items[:middle]), merge_sort(items[middle:]), []
    while left and right:
        out.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return out + left + right


def bubble(items):
    items = items[:]
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items


data = [5, 3, 8, 1, 9, 2, 3]
print(quick(data), merge_sort(data), bubble(data), data, all(f(data) == sorted(data) for f in (quick, merge_sort, bubble)))
