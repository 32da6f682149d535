"""Settings for all tests."""

from hypothesis import settings

# A busy machine must not fail a test: no test asserts a time.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
