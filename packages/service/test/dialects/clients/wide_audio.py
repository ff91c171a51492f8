"""The recording at the rate of the realtime interface of OpenAI."""

import array

from steps import samples

RATE = 24_000


def wide_parts(part_ms):
    """The recording, of 8 or 24 kHz, at 24 kHz in parts of this duration."""
    rate, pcm = samples()
    narrow = array.array("h", pcm)
    wide = array.array("h")
    for sample, after in zip(narrow, [*narrow[1:], narrow[-1]]):
        step = after - sample
        wide.extend((sample, sample + step // 3, sample + 2 * step // 3))
    pcm, size = pcm if rate == RATE else wide.tobytes(), RATE * part_ms // 1000 * 2
    return [pcm[at : at + size] for at in range(0, len(pcm), size)]
