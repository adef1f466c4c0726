"""The lab's own tests.

tree/ looks at files and documents, parts/ at a module without a server, verdicts/ at whole grades.
"""
