from dataclasses import dataclass

import pytest

from labeltrees._settings import (
    LARGEST_INT32,
    check_settings,
    choice,
    flag,
    integer,
    number,
    optional,
    setting,
    settings_from,
    settings_of,
    take_settings,
    with_default,
)
from labeltrees.errors import InputError


@dataclass(kw_only=True)
class Oven:
    heat: float = setting(180.0, number(0, 300, low_open=True), "Temperature.")
    shelves: int | None = setting(None, optional(integer(1)), "Number of shelves.")
    fan: bool = setting(True, flag, "Whether the fan is on.")
    mode: str = choice("bake", ("bake", "grill"), "What to do.")
    light: str | None = choice(None, ("dim", "bright"), "The light.")
    serial: str = "none"


def test_only_fields_made_by_setting_are_settings():
    assert [item.name for item in settings_of(Oven)] == ["heat", "shelves", "fan", "mode", "light"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heat": 0}, r"heat must be a number in \(0, 300\], got 0"),
        ({"heat": "hot"}, "heat must be a number"),
        ({"shelves": 0}, "shelves must be an integer of at least 1, got 0"),
        ({"shelves": LARGEST_INT32 + 1}, "shelves must be an integer of at least 1 and at most 2,147,483,647"),
        ({"fan": 1}, "fan must be True or False, got 1"),
        ({"mode": "fry"}, "mode must be one of 'bake', 'grill', got 'fry'"),
        ({"mode": None}, "mode must be one of 'bake', 'grill', got None"),
        ({"light": "red"}, "light must be one of 'dim', 'bright', got 'red'"),
    ],
)
def test_wrong_values_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        check_settings(Oven(**values))


@pytest.mark.parametrize("values", [{}, {"heat": 300}, {"shelves": 2}, {"light": "dim"}, {"fan": False}])
def test_allowed_values_pass(values):
    check_settings(Oven(**values))


def test_settings_are_taken_from_an_object_or_from_arguments():
    oven = Oven(heat=200.0, light="dim")
    assert take_settings(Oven, oven) == oven

    def bake(bread, *, heat=250.0, mode="grill"):
        return settings_from(Oven, locals())

    assert bake("rye", heat=220.0) == Oven(heat=220.0, mode="grill")


def test_a_subclass_can_change_a_default_and_keeps_the_check():
    @dataclass(kw_only=True)
    class Toaster(Oven):
        heat: float = with_default(Oven, "heat", 150.0)

    assert Toaster().heat == 150.0
    with pytest.raises(InputError, match="heat must be a number"):
        check_settings(Toaster(heat=-1))
