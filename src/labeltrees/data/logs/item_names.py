"""Names of items for people: one line each, no name twice."""

from __future__ import annotations

import polars as pl

from labeltrees.data.logs.reading import collect

# What ends a line for some reader (a file of names has one a line), and other characters that no name should have.
_LINE_BREAKS = r"[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]+"


def name_items(items: pl.Series, events: list[pl.LazyFrame] | None) -> tuple[list[str], dict[str, int]]:
    """Return the names of `items`, and how many of them had to be changed and why.

    Parameters
    ----------
    items : series
        The items, texts or whole numbers, none twice.
    events : list of frames, optional
        item and name: the most common name of an item is taken, the smallest of those that tie. Without it, and for
        items that have no name, the item itself is the name.
    """
    named = pl.DataFrame({"item": items, "name": items.cast(pl.String)})
    counts = {}
    if events is not None:
        given = _most_common(events)
        named = named.join(given, on="item", how="left", suffix="_given", maintain_order="left")
        counts["items without a name (their id is taken)"] = named["name_given"].null_count()
        named = named.select("item", pl.coalesce("name_given", "name").alias("name"))
    plain = one_line(pl.col("name"))
    named = named.with_columns(plain.alias("plain"))
    counts["names with line breaks (a space is put)"] = int((named["plain"] != named["name"]).sum())
    repeated = pl.col("plain").is_duplicated()
    with_id = pl.concat_str(pl.col("plain"), pl.lit(" ["), one_line(pl.col("item").cast(pl.String)), pl.lit("]"))
    named = named.with_columns(repeated.alias("repeated")).with_columns(
        pl.when("repeated").then(with_id).otherwise("plain").alias("unique")
    )
    counts["names of several items (their id is added)"] = int(named["repeated"].sum())
    names = named["unique"].to_list()
    return _apart(names), {what: count for what, count in counts.items() if count}


def one_line(text: pl.Expr) -> pl.Expr:
    """Return texts with a space for every run of line breaks and control characters."""
    return text.str.replace_all(_LINE_BREAKS, " ")


def _most_common(events: list[pl.LazyFrame]) -> pl.DataFrame:
    counted = pl.concat([shard.select("item", "name") for shard in events]).filter(
        pl.col("name").str.strip_chars() != ""
    )
    counted = counted.with_columns(pl.col("name").str.strip_chars()).group_by("item", "name").len("n")
    ordered = collect(counted).sort("n", "name", descending=[True, False])
    return ordered.group_by("item", maintain_order=True).agg(pl.col("name").first())


def _apart(names: list[str]) -> list[str]:
    """Return names that are all different: a number is added to the few that still are not."""
    if len(set(names)) == len(names):
        return names
    seen: set[str] = set(names)
    taken: set[str] = set()
    result = []
    for name in names:
        new, number = name, 2
        while new in taken or (new != name and new in seen):
            new, number = f"{name} ({number})", number + 1
        taken.add(new)
        result.append(new)
    return result
