import struct

import pytest
from plugbay_scheduled_query.dialects.mysql.session import geometry_text


def geometry(kind: int, body: bytes, srid: int = 0) -> bytes:
    return struct.pack("<IBI", srid, 1, kind) + body


def point(x: float, y: float) -> bytes:
    return struct.pack("<dd", x, y)


def line(*points: tuple[float, float]) -> bytes:
    return struct.pack("<I", len(points)) + b"".join(point(*at) for at in points)


def test_a_point_is_written_with_every_digit():
    assert geometry_text(geometry(1, point(1, -0.1))) == "POINT(1 -0.1)"


def test_the_reference_system_is_kept():
    assert geometry_text(geometry(1, point(1, 2), srid=4326)) == "SRID=4326;POINT(1 2)"


def test_lines_and_polygons():
    assert geometry_text(geometry(2, line((0, 0), (1, 2.5)))) == "LINESTRING(0 0,1 2.5)"
    ring = struct.pack("<I", 1) + line((0, 0), (1, 0), (0, 0))
    assert geometry_text(geometry(3, ring)) == "POLYGON((0 0,1 0,0 0))"


def test_many_of_a_kind_and_collections():
    one, two = (geometry(1, point(x, x))[4:] for x in (1, 2))
    both = struct.pack("<I", 2) + one + two
    assert geometry_text(geometry(4, both)) == "MULTIPOINT((1 1),(2 2))"
    assert geometry_text(geometry(7, both)) == "GEOMETRYCOLLECTION(POINT(1 1),POINT(2 2))"


def test_the_other_byte_order_is_read_too():
    assert geometry_text(struct.pack("<I", 0) + struct.pack(">BIdd", 0, 1, 1, 2)) == "POINT(1 2)"


@pytest.mark.parametrize("raw", [b"", b"\x00", geometry(1, b""), geometry(99, b""), geometry(0, b"")])
def test_what_cannot_be_read_is_hex(raw: bytes):
    assert geometry_text(raw) == raw.hex()


def test_a_collection_inside_itself_for_ever_is_hex():
    raw = struct.pack("<I", 0) + struct.pack("<BII", 1, 7, 1) * 100
    assert geometry_text(raw) == raw.hex()
