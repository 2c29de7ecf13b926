#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws sample.png, the picture that ./run demo reads: a shop sign, a receipt and a slanted label. Needs Pillow and the DejaVu fonts."""
import os

from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/"


def font(name, size):
    return ImageFont.truetype(FONTS + name, size)


def sign(canvas):
    draw = ImageDraw.Draw(canvas)
    draw.rounded_rectangle((40, 40, 860, 190), 18, fill=(28, 61, 90))
    draw.text((450, 92), "CRUCIBLE & SONS", fill=(246, 226, 170), font=font("DejaVuSerif-Bold.ttf", 58), anchor="mm")
    draw.text((450, 152), "Fine blades since 1784", fill=(214, 222, 230), font=font("DejaVuSerif.ttf", 32), anchor="mm")


def receipt(canvas):
    draw = ImageDraw.Draw(canvas)
    draw.rectangle((70, 240, 450, 620), fill=(252, 252, 248), outline=(200, 200, 200))
    lines = ["Receipt No. 20417", "Kitchen knife     48.50", "Whetstone 1000    19.90", "Sharpening         7.25", "Total EUR         75.65"]
    for i, line in enumerate(lines):
        draw.text((92, 272 + 66 * i), line, fill=(40, 40, 40), font=font("DejaVuSansMono.ttf", 25))


def label(canvas):
    paper = Image.new("RGBA", (340, 150), (196, 62, 52, 255))
    draw = ImageDraw.Draw(paper)
    draw.text((170, 52), "OPEN TODAY", fill="white", font=font("DejaVuSans-Bold.ttf", 42), anchor="mm")
    draw.text((170, 106), "9:30 - 18:00", fill="white", font=font("DejaVuSans.ttf", 34), anchor="mm")
    turned = paper.rotate(8, expand=True, resample=Image.BICUBIC)
    canvas.paste(turned, (505, 330), turned)


def main():
    canvas = Image.new("RGB", (900, 660), (231, 226, 214))
    sign(canvas)
    receipt(canvas)
    label(canvas)
    canvas.save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.png"), optimize=True)


if __name__ == "__main__":
    main()
