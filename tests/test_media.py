"""Encoded images, sounds and films: their sizes are those that Pillow and wave see; any bytes are fine."""

from __future__ import annotations

import io
import struct
import time
import wave

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfrecord_lite.media import Media, recognize

SIDES = st.integers(1, 700)
WRITTEN = {
    "JPEG": ({"quality": 1}, {"progressive": True}, {"exif": b"Exif\0\0" + bytes(600)}),
    "PNG": ({}, {"optimize": True}),
    "GIF": ({},),
    "WebP": ({"quality": 1}, {"lossless": True}, {"exif": b"Exif\0\0MM"}),
    "BMP": ({},),
    "TIFF": ({}, {"compression": "tiff_lzw"}, {"big_tiff": True}),
    "AVIF": ({"speed": 10},),
    "JPEG 2000": ({}, {"no_jp2": True}),
}
"""Formats and the options of Pillow that change their headers."""


def encoded(name: str, size: tuple[int, int], mode: str = "RGB", **options: object) -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new(mode, size, 3).save(out, name.replace(" ", ""), **options)
    return out.getvalue()


def can_write(name: str) -> bool:
    image = pytest.importorskip("PIL.Image")
    image.init()
    return name.replace(" ", "").upper() in image.SAVE


@pytest.mark.needs("image")
@pytest.mark.parametrize("name", WRITTEN)
@given(width=SIDES, height=SIDES, data=st.data())
@example(width=1, height=1, data=None)
def test_sizes_are_those_that_pillow_wrote(
    name: str, width: int, height: int, data: st.DataObject | None
) -> None:
    if not can_write(name):
        pytest.skip("Pillow was built without this format")
    if name in ("AVIF", "JPEG 2000"):  # slow to write
        width, height = width // 8 + 1, height // 8 + 1
    options = WRITTEN[name][0] if data is None else data.draw(st.sampled_from(WRITTEN[name]))
    written = encoded(name, (width, height), **options)

    found = recognize(written)

    assert found is not None
    assert (found.format, found.kind) == (name, "image")
    assert (found.width, found.height) == (width, height)
    assert found.mime.startswith("image/")
    assert str(found) == f"{name} {width} x {height}"


@pytest.mark.needs("image")
@pytest.mark.parametrize("name", WRITTEN)
def test_cut_images_have_the_size_of_the_whole_or_none(name: str) -> None:
    if not can_write(name):
        pytest.skip("Pillow was built without this format")
    whole = encoded(name, (37, 21))

    sizes = {
        (found.width, found.height)
        for n_bytes in range(len(whole))
        if (found := recognize(whole[:n_bytes])) is not None
    }

    assert sizes == {(None, None), (37, 21)} or (
        name == "TIFF" and sizes <= {(None, None), (37, 21)}
    )


BEGINNINGS = [
    b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ",
    b"RIFF\0\0\0\0WEBPVP8L", b"RIFF\0\0\0\0WEBPVP8X", b"BM" + bytes(12) + b"\x28\0\0\0", b"II*\0", b"MM\0*",
    b"II+\0\x08\0\0\0", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0AVI LIST\0\0\0\0hdrlavih", b"fLaC\0", b"OggS\0",
    b"OggS" + bytes(22) + b"\x01\x1e\x01vorbis", b"ID3\x04\0\0\0\0\0\0", b"\xff\xfb\x90\x00",
    b"\0\0\0\x18ftypisom", b"\0\0\0\x08ftypavif", b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51",
    b"\x1a\x45\xdf\xa3webm",
]  # fmt: skip


@given(st.sampled_from(BEGINNINGS), st.binary(max_size=80))
def test_any_bytes_are_recognised_without_errors(begin: bytes, rest: bytes) -> None:
    found = recognize(begin + rest)

    assert found is None or str(found).startswith(found.format)
    assert found is None or all(
        side is None or side > 0 for side in (found.width, found.height, found.sample_rate)
    )


@given(st.binary(max_size=200))
def test_bytes_of_no_format_are_not_recognised(data: bytes) -> None:
    if not any(data.startswith(begin[:2]) for begin in BEGINNINGS) and b"ftyp" not in data:
        assert recognize(data) is None


def test_a_text_with_the_letters_of_a_box_is_a_text() -> None:
    assert recognize(b"abcdftypical sentence of text") is None
    assert recognize(b"   \nftypavif") is None
    assert str(recognize(b"\0\0\0\x20ftypisom")) == "MP4"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8" + b"\xff" * 10_000_000,
        b"\xff\xd8" + b"\xff\xe0\0\x02" * 2_500_000,
        b"RIFF\0\0\0\0WAVE" + b"junk\0\0\0\0" * 1_250_000,
        b"\0\0\0\x08ftyp" + b"\0\0\0\x08moov" * 1_250_000,
        b"\0\0\0\x08ftyp" + b"\0\0\0\0moov" * 1_250_000,
        b"\0\0\0\x10ftypavif\0\0\0\0" + b"\0\0\0\0meta\0\0\0\0" * 800_000,
        b"II*\0\x08\0\0\0\xff\xff" + bytes(10_000_000),
        b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0" + b"\xff" * 8 + bytes(10_000_000),
        b"ID3\x04\0\0\0\0\0\0" + bytes(10_000_000),
        b"OggS\0" + bytes(10_000_000),
    ],
    ids=lambda data: repr(data[:12]),
)
def test_the_work_does_not_grow_with_the_bytes(data: bytes) -> None:
    begin = time.process_time()

    recognize(data)

    assert time.process_time() - begin < 0.2


@pytest.mark.parametrize(
    "text", [b"BMW is a car, and this is a text", b"ID3 tags", b"RIFF", b"MMM", b"II*"]
)
def test_texts_that_begin_like_a_format_are_not_of_it(text: bytes) -> None:
    assert recognize(text) is None


@given(st.integers(1, 2), st.sampled_from([1, 2, 4]), st.integers(1, 200_000), st.integers(0, 500))
def test_the_rate_and_length_of_a_wav_are_those_that_were_written(
    channels: int, width: int, rate: int, n_frames: int
) -> None:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(bytes(n_frames * channels * width))

    found = recognize(out.getvalue())

    assert found is not None
    assert (found.format, found.sample_rate, found.n_channels) == ("WAV", rate, channels)
    assert (found.seconds or 0) == pytest.approx(n_frames / rate)


def test_a_wav_that_was_streamed_is_as_long_as_its_bytes() -> None:
    head = struct.pack("<HHIIHH", 1, 1, 8000, 16_000, 2, 16)
    data = b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<I", 16) + head
    data += b"data\xff\xff\xff\xff" + bytes(32_000)

    assert str(recognize(data)) == "WAV 8000 Hz, mono, 2.0 s"


def test_flac() -> None:
    bits = 44_100 << 44 | 1 << 41 | 15 << 36 | 88_200
    data = b"fLaC\x80\0\0\x22" + bytes(10) + struct.pack(">Q", bits) + bytes(16)

    assert str(recognize(data)) == "FLAC 44100 Hz, stereo, 2.0 s"


def mp3_frame(xing: bytes = b"") -> bytes:
    """Return a frame of 128 kbit/s, 44,100 Hz, stereo: 417 bytes."""
    return (b"\xff\xfb\x90\x00" + bytes(32) + xing).ljust(417, b"\0")


@pytest.mark.parametrize("tag", [b"", b"ID3\x04\0\0\0\0\0\x05title"], ids=["no tag", "ID3"])
def test_mp3(tag: bytes) -> None:
    xing = b"Xing" + struct.pack(">II", 1, 100)

    assert str(recognize(tag + mp3_frame(xing) + mp3_frame())) == "MP3 44100 Hz, stereo, 2.6 s"
    assert str(recognize(tag + mp3_frame() + mp3_frame())) == "MP3 44100 Hz, stereo"


def test_two_bytes_of_a_frame_are_not_an_mp3() -> None:
    assert recognize(mp3_frame()[:200]) is None
    assert recognize(mp3_frame() + b"something else") is None
    assert recognize(mp3_frame()) is not None


def ogg_page(packet: bytes, position: int) -> bytes:
    return b"OggS\0\0" + struct.pack("<q", position) + bytes(12) + bytes([1, len(packet)]) + packet


@pytest.mark.parametrize(
    ("packet", "position", "text"),
    [
        (b"\x01vorbis" + struct.pack("<IBI", 0, 2, 44_100), 44_100, "OGG 44100 Hz, stereo, 1.0 s"),
        (b"OpusHead\x01\x01" + struct.pack("<H", 312), 48_312, "OGG 48000 Hz, mono, 1.0 s"),
        (
            b"\x80theora\x03\x02\x01" + struct.pack(">HHBHBH", 20, 15, 0, 320, 0, 240),
            0,
            "OGG video 320 x 240",
        ),
    ],
    ids=["Vorbis", "Opus", "Theora"],
)
def test_ogg(packet: bytes, position: int, text: str) -> None:
    data = ogg_page(packet.ljust(60, b"\0"), 0) + bytes(9000) + ogg_page(b"", position)

    assert str(recognize(data)) == text


def test_ogg_without_a_page_near_its_end_has_no_length() -> None:
    packet = b"\x01vorbis" + struct.pack("<IBI", 0, 2, 44_100)

    assert (
        str(recognize(ogg_page(packet.ljust(60, b"\0"), 5) + bytes(70_000)))
        == "OGG 44100 Hz, stereo"
    )


def box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + name + content


def test_mp4_has_the_size_of_its_film_wherever_its_header_is() -> None:
    sound = box(b"trak", box(b"tkhd", bytes(84)))
    film = box(b"trak", box(b"tkhd", bytes(76) + struct.pack(">II", 640 << 16, 360 << 16)))
    length = box(b"mvhd", bytes(12) + struct.pack(">II", 1000, 2500) + bytes(80))
    ftyp, mdat = box(b"ftyp", b"isom" + bytes(12)), box(b"mdat", bytes(5000))
    moov = box(b"moov", length + sound + film)

    for data in (ftyp + mdat + moov, ftyp + moov + mdat):
        found = recognize(data)

        assert str(found) == "MP4 640 x 360, 2.5 s"
        assert found == Media("MP4", "video", "video/mp4", ".mp4", 640, 360, 2.5)


@pytest.mark.parametrize("duration", [0, 2**32 - 1])
def test_an_mp4_that_is_streamed_has_no_length(duration: int) -> None:
    length = box(b"mvhd", bytes(12) + struct.pack(">II", 1000, duration) + bytes(80))

    assert str(recognize(box(b"ftyp", b"isom" + bytes(12)) + box(b"moov", length))) == "MP4"


def test_avi() -> None:
    header = bytes(32) + struct.pack("<II", 320, 200) + bytes(16)
    data = b"RIFF\0\0\0\0AVI LIST\xff\0\0\0hdrlavih" + struct.pack("<I", 56) + header

    assert str(recognize(data)) == "AVI 320 x 200"


def test_bmp_of_old_and_of_rows_from_the_top_down() -> None:
    old = b"BM" + bytes(12) + struct.pack("<IHHHH", 12, 5, 7, 1, 24)
    down = b"BM" + bytes(12) + struct.pack("<Iii", 40, 5, -7)

    assert str(recognize(old)) == str(recognize(down)) == "BMP 5 x 7"
