"""The commands of an instructor: what is handed out and comes back, a whole class, its points
elsewhere, the site.
"""
