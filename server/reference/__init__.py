"""What people and agents read about winnow: the script SDK, the tools' arguments, the playbook, the prompts.

All of it is made from the code and from ``server/data/playbook.md`` when it is asked for. The pages in ``docs/``
are written from here, too.
"""
