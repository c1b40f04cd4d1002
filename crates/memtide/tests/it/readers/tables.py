"""Tables that memtide writes, as others' packages read them. Knows no column by its name."""

import duckdb
import pandas
import polars


def table(path):
    """A table as a frame of pandas: whole numbers, fractions, text; missing cells are NA."""
    if path.endswith(".parquet"):
        frame = from_parquet(path)
    elif path.endswith(".jsonl"):
        frame = pandas.read_json(path, lines=True, dtype=False, convert_dates=False)
    else:
        # A word such as "nan" would be no missing cell; only an empty one is.
        frame = pandas.read_csv(path, keep_default_na=False, na_values=[""])
    return typed(frame)


def from_parquet(path):
    """A Parquet file, of which duckdb and polars must say the same, cell by cell."""
    read = duckdb.sql(f"SELECT * FROM read_parquet('{path}', binary_as_string=false)")
    names, rows = read.columns, read.fetchall()
    others = polars.read_parquet(path)
    assert others.columns == names, (others.columns, names)
    assert others.rows() == rows, f"{path}: duckdb and polars read other rows"
    frame = pandas.DataFrame(rows, columns=names, dtype=object)
    return frame.map(lambda cell: cell.decode() if isinstance(cell, bytes) else cell)


def typed(frame):
    """The frame with the types that its cells call for, whichever reader it came by."""
    for name in frame:
        cells = frame[name]
        some = cells.dropna()
        if all(isinstance(cell, str) for cell in some) and len(some):
            frame[name] = cells.astype("string")
        elif name.endswith(("_s", "_mean_ns", "_mean_at_least_ns", "_busy", "_busy_max", "_stolen")):
            frame[name] = cells.astype("Float64")
        else:
            frame[name] = cells.astype("Int64")
    return frame


def assert_same(frames):
    """Fails unless all frames have the same columns and cells."""
    first, *others = frames
    for other in others:
        pandas.testing.assert_frame_equal(first, other, check_exact=True)


def schema(path):
    """The columns of a Parquet file, by name: its type, how it is to be understood, if optional."""
    read = "SELECT name, type, converted_type, repetition_type FROM parquet_schema(?)"
    rows = duckdb.execute(read, [path]).fetchall()
    return {name: (kind, meant, how == "OPTIONAL") for name, kind, meant, how in rows[1:]}


def about(path):
    """The key-value metadata of a Parquet file, of which both readers must say the same."""
    read = "SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)"
    found = dict(duckdb.execute(read, [path]).fetchall())
    other = polars.read_parquet_metadata(path)
    assert {key: other[key] for key in found} == found, (found, other)
    return found
