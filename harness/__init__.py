"""The harness of Event Loop Lab: starts servers, talks to them over TCP, grades what they do."""
