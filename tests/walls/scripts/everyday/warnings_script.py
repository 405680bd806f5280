import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("one")
    warnings.warn("two", DeprecationWarning)
print([(str(w.message), w.category.__name__) for w in caught])
with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        warnings.warn("raised", UserWarning)
    except UserWarning as warning:
        print("caught", warning)
warnings.filterwarnings("ignore", message=".*noisy.*")
warnings.warn("a noisy thing")
print("end")
