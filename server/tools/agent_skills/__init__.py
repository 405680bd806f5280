"""Agent skills: folders of instructions for models, in the format of agentskills.io, made of the server's texts.

They are other things than the skills of scripts (``server/tools/scripts/skills.py``), which are functions. MCP
serves them, the plugin has them as files, and ``winnow setup --skills`` writes them into the folders of clients.
"""
