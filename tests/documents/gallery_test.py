#!/usr/bin/env python3
"""Tests of the comparison of the gallery: which changes of a page it finds, and which it ignores."""

import io
import unittest

import numpy
from PIL import Image, ImageDraw, ImageFilter, ImageFont

import gallery_check
import gallery_pages
from gallery_compare import difference

LINE = 13
TEXT = ["The discharge follows from the area and the", "mean velocity, and the velocity from the",
        "slope of the bed. Both can be measured."]
INK, QUIET, BLUE, GREEN = (31, 35, 40), (87, 96, 106), (11, 61, 98), (0, 133, 124)
TINT = (219, 226, 232)


def page(header=TINT, bars=(90, 60, 120, 80), colors=(BLUE, GREEN), paragraph=0, words=TEXT, over=False):
    """A page with a table, a paragraph and a chart, as large as those of the gallery."""
    picture = Image.new("RGB", (960, 1200), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(18)
    draw.rectangle((100, 100, 860, 132), fill=header)
    draw.text((110, 105), "Harbour            Tonnes            Margin", INK, font)
    for row in range(3):
        draw.text((110, 140 + row * 32), f"Rotterdam            46{row},400            31.5%", INK, font)
        draw.line((100, 164 + row * 32, 860, 164 + row * 32), (208, 215, 222), 2)
    for at, line in enumerate(words):
        draw.text((100, 320 + (at + paragraph) * 2 * LINE), line, INK, font)
    if over:
        draw.text((104, 330), "Figure 1: The river at Kaub", INK, font)
    draw.text((100, 560), "Table 1: Plan and actual", QUIET, font)
    for at, height in enumerate(bars):
        draw.rectangle((140 + at * 90, 1000 - 2 * height, 190 + at * 90, 1000), fill=colors[at % 2])
    draw.line((120, 1000, 560, 1000), INK, 2)
    return picture.resize((480, 600), Image.LANCZOS)


def moved(picture, right, down):
    """The page with each pixel moved by up to one; its edge is repeated."""
    padded = numpy.pad(numpy.asarray(picture), ((1, 1), (1, 1), (0, 0)), mode="edge")
    top, left = 1 - down, 1 - right
    return Image.fromarray(padded[top:top + picture.height, left:left + picture.width])


def a_line_lower(picture):
    """The page with all but its upper edge moved down by the height of a line."""
    top = picture.height // 20
    changed = picture.copy()
    changed.paste(picture.crop((0, top, picture.width, picture.height - LINE)), (0, top + LINE))
    return changed


def compressed(picture):
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=85, subsampling=0)
    return Image.open(file).convert("RGB")


class Comparison(unittest.TestCase):
    def assert_equal(self, old, new):
        self.assertLessEqual(difference(old, new).max(), 1)

    def assert_different(self, old, new):
        self.assertGreater(difference(old, new).max(), 1.5)

    def test_what_nobody_sees_is_equal(self):
        old = page()
        for right, down in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1)]:
            self.assert_equal(old, moved(old, right, down))
        self.assert_equal(old, compressed(old))
        self.assert_equal(old, old.filter(ImageFilter.GaussianBlur(0.5)))
        self.assert_equal(old, old.point(lambda value: min(255, value + 3)))

    def test_shapes(self):
        self.assert_different(page(), page(bars=(90, 60, 0, 80)))
        self.assert_different(page(), page(bars=(90, 60, 108, 80)))
        self.assert_different(page(bars=()), page(bars=(4,)))

    def test_colors(self):
        self.assert_different(page(), page(header=(246, 248, 250)))
        self.assert_different(page(), page(header=(244, 226, 205)))
        self.assert_different(page(), page(colors=(BLUE, BLUE)))
        self.assert_different(page(), page(colors=(GREEN, BLUE)))
        self.assert_different(page(), page(colors=(BLUE, (0, 120, 150))))

    def test_text(self):
        self.assert_different(page(), page(paragraph=1))
        self.assert_different(page(), page(over=True))
        self.assert_different(page(), page(words=TEXT[:2]))
        self.assert_different(page(), page(words=[TEXT[0].replace("discharge ", ""), *TEXT[1:]]))

    def test_sizes(self):
        with self.assertRaises(ValueError):
            difference(page(), page().resize((480, 640)))

    def test_references(self):
        """On pages of the gallery a movement by a pixel is ignored, and one by a line found."""
        names = gallery_pages.names(gallery_pages.PAGES)
        self.assertEqual(len(names), 30)
        for name in names[::3]:
            with self.subTest(name):
                old = gallery_check.load(name)
                self.assert_equal(old, moved(old, 1, -1))
                self.assert_different(old, a_line_lower(old))


if __name__ == "__main__":
    unittest.main()
