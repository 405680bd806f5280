# fence: error | walls: - | both: error
# The package that the SDK is installed in has the same name as the module of scripts, and opens stores.
import winnow

found = [name for name in ("open_store", "SEARCH_PATH", "client_sdk") if hasattr(winnow, name)]
print("BREACHED" if found else "")
print(winnow.open_store)
