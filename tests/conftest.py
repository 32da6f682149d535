"""What holds for every test."""

from hypothesis import settings

# No test asserts a time: a busy machine must not fail a test.
settings.register_profile("labeltrees", deadline=None)
settings.load_profile("labeltrees")

pytest_plugins = ["tests.chunk_models"]
