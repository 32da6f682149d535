"""Readable names of items: one line each, all different."""

from __future__ import annotations

import polars as pl

from labeltrees.logs.reading import collect

# Characters that end a line for some reader (a file of names has one per line), and other control characters.
_LINE_BREAKS = r"[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]+"


def name_items(items: pl.Series, events: list[pl.LazyFrame] | None) -> tuple[list[str], dict[str, int]]:
    """Return the names of `items`, and how many names were changed, by reason.

    Parameters
    ----------
    items : series
        The items, texts or integers, all different.
    events : list of frames, optional
        With the columns item and name. An item gets its most common name, of ties the smallest. Without it, and for
        items without a name, the item itself is the name.
    """
    named = pl.DataFrame({"item": items, "name": items.cast(pl.String)})
    counts = {}
    if events is not None:
        given = _most_common(events)
        named = named.join(given, on="item", how="left", suffix="_given", maintain_order="left")
        counts["items without a name (their id is taken)"] = named["name_given"].null_count()
        named = named.select("item", pl.coalesce("name_given", "name").alias("name"))
    named = named.with_columns(one_line(pl.col("name")).alias("line"))
    counts["names with line breaks (a space is put)"] = int((named["line"] != named["name"]).sum())
    repeated = pl.col("line").is_duplicated()
    with_id = pl.concat_str(pl.col("line"), pl.lit(" ["), one_line(pl.col("item").cast(pl.String)), pl.lit("]"))
    named = named.with_columns(repeated.alias("repeated")).with_columns(
        pl.when("repeated").then(with_id).otherwise("line").alias("unique")
    )
    counts["names of several items (their id is added)"] = int(named["repeated"].sum())
    names = named["unique"].to_list()
    return _make_different(names), {what: count for what, count in counts.items() if count}


def one_line(text: pl.Expr) -> pl.Expr:
    """Replace every run of line breaks and control characters in texts by a space."""
    return text.str.replace_all(_LINE_BREAKS, " ")


def _most_common(events: list[pl.LazyFrame]) -> pl.DataFrame:
    counted = pl.concat([shard.select("item", "name") for shard in events]).filter(
        pl.col("name").str.strip_chars() != ""
    )
    counted = counted.with_columns(pl.col("name").str.strip_chars()).group_by("item", "name").len("n")
    ordered = collect(counted).sort("n", "name", descending=[True, False])
    return ordered.group_by("item", maintain_order=True).agg(pl.col("name").first())


def _make_different(names: list[str]) -> list[str]:
    """Return names that are all different, by adding numbers where needed."""
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
