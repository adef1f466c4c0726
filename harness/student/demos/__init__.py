"""One demo a chapter: what its handout shows first, over real sockets. chNN.py has show()."""
