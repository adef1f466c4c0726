"""The pictures of the handouts: drawn by Graphviz, from sources that are kept beside them."""
