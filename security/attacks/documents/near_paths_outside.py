# surface: held
# A wrong path asks for the names near it, among them those of documents outside the scope.
from winnow.security.corpus_store import names_hidden, near_names_of_all_files


def control():
    return near_names_of_all_files("hidde_page")


def surface():
    return names_hidden([("documents", "hidde*"), ("documents", "*idde_pag*"), ("read", "hidde_page.md")])
