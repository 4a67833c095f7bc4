"""ONNX models of a few hundred bytes, written by hand: the tests need no package and no download.

Field numbers are those of onnx.proto; only what these models use is here.
"""

from pathlib import Path

RECIPE = """
name = "blocks"
input = "data"
size = [112, 112]
colour = "rgb"
scale = 1.0
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]
alignment = "arcface-112"
dimensions = 48
licence = "none"
"""


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, shape: list[int | str], kind: int = 1) -> bytes:
    dims = b"".join(field(1, field(1 if isinstance(n, int) else 2, n)) for n in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def node(kind: str, source: str, target: str, **attributes: list[int] | int) -> bytes:
    listed = b""
    for name, value in attributes.items():
        ints = isinstance(value, list)
        numbers = b"".join(field(8, n) for n in value) if ints else field(3, value)
        listed += field(5, field(1, name) + numbers + field(20, 7 if ints else 2))
    return field(1, source) + field(2, target) + field(4, kind) + listed


def block_means(
    *,
    name: str = "data",
    shape: tuple[int | str, ...] = (1, 3, 112, 112),
    after: tuple[str, ...] = (),
    kind: int = 1,
) -> bytes:
    """The 48 means of the 4 x 4 blocks of each channel, and then what else is asked for."""
    chain = [name, "pooled", *after, "vector"]
    nodes = [node("AveragePool", name, "pooled", kernel_shape=[28, 28], strides=[28, 28])]
    nodes += [node(step, before, step) for before, step in zip(chain[1:], after, strict=False)]
    nodes.append(node("Flatten", chain[-2], "vector", axis=1))
    graph = b"".join(field(1, n) for n in nodes) + field(2, "tiny")
    graph += field(11, tensor(name, list(shape), kind)) + field(
        12, tensor("vector", ["n", "m"], kind)
    )
    return field(1, 7) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def model_in(folder: Path, content: bytes | None = None, recipe: str = RECIPE) -> Path:
    """The model in a file, with its recipe beside it."""
    path = folder / "blocks.onnx"
    path.write_bytes(block_means() if content is None else content)
    path.with_suffix(".toml").write_text(recipe)
    return path
