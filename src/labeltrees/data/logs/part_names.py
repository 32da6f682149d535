"""The two parts of a prepared log, and the names of their folders."""

TRAIN, TEST = "train", "test"


def parts_name(part: str) -> str:
    """Return the name of the folder of a part that is written as a dataset in parts.

    Examples
    --------
    >>> parts_name(TRAIN)
    'train.parts'
    """
    return f"{part}.parts"
