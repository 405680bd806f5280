def check(text):
    pairs, stack = {")": "(", "]": "[", "}": "{"}, []
    for i, ch in enumerate(text):
        if ch in pairs.values():
            stack.append((ch, i))
        elif ch in pairs:
            if not stack or stack.pop()[0] != pairs[ch]:
                return f"unexpected {ch!r} at {i}"
    return f"unclosed {stack[-1][0]!r} at {stack[-1][1]}" if stack else "balanced"


print([check(t) for t in ("a(b[c]{d})", "(]", "((", ")")])
