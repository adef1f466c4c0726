"""Chapter 11: bytes are moved by operations that complete."""
from harness.grading.plugin import claim
from harness.scenarios.exchanges import ping


@claim("11.8", points=85, cli=True, needs="io_uring")
def test_11_echoes_with_io_uring(launch, rng):
    """With --io uring a frame is echoed."""
    ping(launch(("--io", "uring")).connect(), rng)
