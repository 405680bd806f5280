# surface: held
# A wrong title asks for the documents that are called alike, and a right one whether there is such a document.
from winnow.security.corpus_store import answers, ingest_pages, near_names_of_all_files


def control():
    return near_names_of_all_files("hidden_pagf")


def surface():
    ingest_pages()
    wrong, right = answers("read", "Hiden lanterm"), answers("read", "Hidden lantern")
    path = answers("read", "hiddenfolder/hidden_page.md")
    others = wrong.replace("Hiden lanterm", "") + right.replace("Hidden lantern", "")
    others += path.replace("hiddenfolder/hidden_page.md", "")
    is_told = [said.partition(";")[0].count("none that this call reaches") != 1 for said in (wrong, right, path)]
    return "hidden" in others.casefold() or any(is_told)
