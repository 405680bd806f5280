"""Reference texts for people and agents: the script SDK, the tools' arguments, the playbook, the prompts.

They are generated on request from the code and from ``server/data/playbook.md``, as are the pages in ``docs/``.
"""
