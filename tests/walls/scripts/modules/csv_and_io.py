import csv
import io

raw = 'name,score,note\n"Smith, J.",3.5,"said ""hi"""\nLee,4,\n'
rows = list(csv.DictReader(io.StringIO(raw)))
print(rows, [r["name"] for r in rows], sum(float(r["score"]) for r in rows))
out = io.StringIO()
writer = csv.DictWriter(out, fieldnames=["name", "score"], extrasaction="ignore")
writer.writeheader(); writer.writerows(sorted(rows, key=lambda r: r["name"]))
print(repr(out.getvalue()), list(csv.reader(["a;b", "c;'d;e'"], delimiter=";", quotechar="'")), list(csv.reader(io.StringIO("x\ty\n"), dialect="excel-tab")))
buffer = io.StringIO()
csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([[1, "a"], [None, 'q"']])
print(buffer.getvalue(), csv.Sniffer().sniff("a;b\n1;2\n").delimiter, csv.Sniffer().has_header("name,age\nbo,3\nal,4\n"))
s = io.StringIO("line1\nline2\n"); print(s.readline(), s.read(), s.tell(), s.seek(0), list(s), s.closed)
b = io.BytesIO(); b.write(b"abc"); print(b.getvalue(), b.seek(1), b.read(), len(b.getbuffer()) if False else "")
with io.StringIO() as f:
    f.write("x"); f.writelines(["y", "z"]); print(f.getvalue())
try:
    f.read()
except ValueError as error:
    print(error)
try:
    csv.DictWriter(io.StringIO(), ["a"]).writerow({"b": 1})
except ValueError as error:
    print(error)
