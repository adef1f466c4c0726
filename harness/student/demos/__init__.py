"""One demo a chapter: what its handout shows first, over real sockets."""
