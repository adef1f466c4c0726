"""What several claims do to a server: exchanges, crowds, faults, and what they may cost.

Imports: client, evidence, instruments, lab, server, shim.
"""
