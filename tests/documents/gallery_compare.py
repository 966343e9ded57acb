"""Whether two pictures of a page look the same to a person.

Both are blurred a little and compared in every window of nine by nine pixels, in two ways: by the
mean difference of the colours, and by structural similarity (SSIM) of the brightness. Of each window
the best match within a pixel counts. So antialiasing, the weight of letters and a movement by one
pixel are equal; a missing shape, another colour, a moved line and text over text are not.
"""

import numpy
from PIL import Image, ImageFilter

BLUR = 1.0
RADIUS = 4
SHIFTS = [(down, right) for down in (0, -1, 1) for right in (0, -1, 1)]
BRIGHTNESS = numpy.array([0.299, 0.587, 0.114], dtype=numpy.float32)
# The constants of SSIM (Wang et al. 2004). The second is larger than theirs, so that noise on an
# empty page is no structure.
C1, C2 = (0.01 * 255) ** 2, (0.06 * 255) ** 2
# What is tolerated. Colours, from 0 to 255: in an even window, and for each unit of contrast, because
# programs draw the edges of letters differently. The structure: from 0 to 2. Another program, PDFium,
# draws the same pages within this.
COLOR, COLOR_BY_CONTRAST, STRUCTURE = 6.0, 0.45, 0.6


def difference(old, new):
    """The share of the tolerance that each window uses; more than 1 is a visible difference.

    Both are RGB pictures.
    """
    if old.size != new.size:
        raise ValueError(f"the size was {old.size} and is {new.size}")
    if old.tobytes() == new.tobytes():
        return numpy.zeros((old.height, old.width))
    old, new = pixels(old), pixels(new)
    before, after = Brightness(old), Brightness(new)
    tolerated = COLOR + COLOR_BY_CONTRAST * before.contrast()
    least = numpy.inf
    for shift in SHIFTS:
        moved = numpy.roll(new, shift, (0, 1))
        color = mean(numpy.abs(old - moved).max(axis=2)) / tolerated
        structure = (1 - before.similarity(after.moved(shift))) / STRUCTURE
        least = numpy.minimum(least, numpy.maximum(color, structure))
        if least.max() <= 1:
            break
    return least[1:-1, 1:-1]


def pixels(picture):
    """The blurred picture, with a margin that takes the movements."""
    blurred = picture.filter(ImageFilter.GaussianBlur(BLUR))
    return numpy.pad(numpy.asarray(blurred, dtype=numpy.float32), ((1, 1), (1, 1), (0, 0)), mode="edge")


class Brightness:
    """The brightness of a picture with its statistics by windows."""

    def __init__(self, array):
        self.values = array @ BRIGHTNESS
        self.mean = mean(self.values)
        self.variance = numpy.maximum(mean(self.values**2) - self.mean**2, 0)

    def contrast(self):
        return numpy.sqrt(self.variance)

    def moved(self, shift):
        other = Brightness.__new__(Brightness)
        for name in ("values", "mean", "variance"):
            setattr(other, name, numpy.roll(getattr(self, name), shift, (0, 1)))
        return other

    def similarity(self, other):
        product = self.mean * other.mean
        covariance = mean(self.values * other.values) - product
        means = (2 * product + C1) / (self.mean**2 + other.mean**2 + C1)
        return means * (2 * covariance + C2) / (self.variance + other.variance + C2)


def mean(values):
    """The mean of the window around each pixel."""
    for axis in (0, 1):
        padding = [(RADIUS, RADIUS) if at == axis else (0, 0) for at in (0, 1)]
        padded, length = numpy.pad(values, padding, mode="edge"), values.shape[axis]
        steps = [padded[step:step + length] if axis == 0 else padded[:, step:step + length]
                 for step in range(2 * RADIUS + 1)]
        values = sum(steps[1:], steps[0]) / len(steps)
    return values


def side_by_side(old, new, found):
    """The old page, the new page, and the new one with what differs in red."""
    height, width = max(old.height, new.height), old.width + 2 * new.width + 20
    whole = Image.new("RGB", (width, height), (120, 120, 120))
    whole.paste(old, (0, 0))
    whole.paste(new, (old.width + 10, 0))
    pale = Image.blend(new.convert("L").convert("RGB"), Image.new("RGB", new.size, "white"), 0.6)
    if found is not None:
        mask = Image.fromarray((numpy.clip(found - 0.5, 0, 1) * 255).astype(numpy.uint8))
        pale.paste((220, 0, 40), (0, 0), mask.point(lambda value: value if value > 127 else 0))
    whole.paste(pale, (old.width + new.width + 20, 0))
    return whole
