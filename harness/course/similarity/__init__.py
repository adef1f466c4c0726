"""Which submissions share more than the skeleton explains: tokens, fingerprints, pairs, a page.

    tokens.py         C without names, values, layout and comments
    fingerprints.py   short pieces of it, chosen by winnowing; what everybody was given is left out
    pairs.py          a class: which pairs share how much
    pieces.py         where two submissions are alike
    page.py           the pairs side by side, page.html
    command.py        reads the hand-in of each that counts, and prints a table of the pairs
"""
