"""The texts and images of the pages of a PDF that Chromium has printed."""

from __future__ import annotations

import re
import zlib


class Pdf:
    """Objects of a file; its streams are compressed, and each font says what its glyphs mean."""

    def __init__(self, data):
        found = re.findall(rb"(?:^|\n)(\d+) 0 obj\s(.*?)\nendobj", data, re.DOTALL)
        self._objects = {int(number): body for number, body in found}

    def _stream(self, number):
        body = self._objects[int(number)]
        return zlib.decompress(body[body.index(b"stream") + 6 :].lstrip(b"\r\n"))

    def _letters(self, font):
        table = self._stream(re.search(rb"/ToUnicode (\d+)", self._objects[int(font)])[1])
        made = {}
        for block in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.DOTALL):
            for glyph, text in re.findall(rb"<(\w+)> <(\w+)>", block):
                made[int(glyph, 16)] = bytes.fromhex(text.decode()).decode("utf-16-be")
        for block in re.findall(rb"beginbfrange(.*?)endbfrange", table, re.DOTALL):
            for ends in re.findall(rb"<(\w+)> <(\w+)> <(\w+)>", block):
                first, last, letter = (int(end, 16) for end in ends)
                made |= {glyph: chr(letter + glyph - first) for glyph in range(first, last + 1)}
        return made

    @property
    def _pages(self):
        return [body for body in self._objects.values() if re.search(rb"/Type /Page\b", body)]

    def pages(self):
        """The text of each page, without spaces."""
        return [self._text(page) for page in self._pages]

    def images(self):
        """Left and right end of each image, as parts of the width of its page."""
        number, made = rb"(-?[\d.]+)", []
        for page in self._pages:
            content = self._stream(re.search(rb"/Contents (\d+)", page)[1])
            unit = float(re.search(number + rb" 0 0 ", content)[1])
            wide = float(re.search(rb"/MediaBox \[0 0 " + number, page)[1]) / unit
            placed = number + rb" 0 0 \S+ " + number + rb" \S+ cm\s[^Q]*?/X\d+ Do"
            for across, left in re.findall(placed, content):
                made.append((float(left) / wide, (float(left) + float(across)) / wide))
        return made

    def _text(self, page):
        fonts = {name: self._letters(n) for name, n in re.findall(rb"/(F\d+) (\d+) 0 R", page)}
        content, made, font = self._stream(re.search(rb"/Contents (\d+)", page)[1]), [], {}
        shown = rb"/(F\d+) [\d.]+ Tf|(<[0-9A-Fa-f]+>[^\n]*?T[jJ]|\[[^\]]*\] TJ)"
        for name, glyphs in re.findall(shown, content):
            font = fonts[name] if name else font
            for code in re.findall(rb"<([0-9A-Fa-f]+)>", glyphs):
                made += [font.get(int(code[i : i + 4], 16), "") for i in range(0, len(code), 4)]
        return "".join(made).replace(" ", "")
