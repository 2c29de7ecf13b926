# SPDX-License-Identifier: Apache-2.0
"""Text detection with a DBNet model: picture in, quadrilaterals out.

Method: M. Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", AAAI 2020. Normalisation and
thresholds are those that the PP-OCRv4 detector was trained and published with.
"""
import cv2
import numpy as np
import pyclipper

SHORT_SIDE = 736        # small pictures are enlarged to this
LONG_SIDE = 1600        # large ones are reduced to this
BINARY_THRESHOLD = 0.3  # of the probability map
BOX_THRESHOLD = 0.5     # mean probability inside a box
UNCLIP_RATIO = 1.6      # boxes are trained shrunk: grow by area * ratio / perimeter
SMALLEST_SIDE = 3       # pixels


def preprocess(picture):
    """BGR uint8 [H, W, 3] -> float32 [1, 3, H', W'], sides multiples of 32."""
    height, width = picture.shape[:2]
    scale = max(1.0, SHORT_SIDE / min(height, width))
    scale = min(scale, max(LONG_SIDE / max(height, width), 32 / min(height, width)))
    size = [min(max(32, round(side * scale / 32) * 32), LONG_SIDE) for side in (width, height)]
    resized = cv2.resize(picture, size).astype(np.float32)
    return np.ascontiguousarray(((resized / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None])


def boxes_from_map(probability, picture_shape):
    """float32 [H', W'] -> list of float32 [4, 2] corner points in the picture, clockwise from the top left, in reading order."""
    height, width = picture_shape[:2]
    scale = np.array([width / probability.shape[1], height / probability.shape[0]], np.float32)
    mask = (probability > BINARY_THRESHOLD).astype(np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    boxes = []
    for contour in contours:
        box = cv2.boxPoints(cv2.minAreaRect(contour))
        if min(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[1] - box[2])) < SMALLEST_SIDE:
            continue
        if mean_inside(probability, box) < BOX_THRESHOLD:
            continue
        grown = unclip(box)
        if grown is not None:
            boxes.append(clockwise(grown) * scale)
    return reading_order(boxes)


def mean_inside(probability, box):
    left, top = np.floor(box.min(axis=0)).astype(int).clip(0)
    right, bottom = np.ceil(box.max(axis=0)).astype(int) + 1
    part = probability[top:bottom, left:right]
    mask = np.zeros(part.shape, np.uint8)
    cv2.fillPoly(mask, [np.round(box - [left, top]).astype(np.int32)], 1)
    return cv2.mean(part, mask)[0]


def unclip(box):
    distance = cv2.contourArea(box) * UNCLIP_RATIO / cv2.arcLength(box, True)
    offset = pyclipper.PyclipperOffset()
    offset.AddPath(np.round(box).astype(int).tolist(), pyclipper.JT_ROUND, pyclipper.ET_CLOSEDPOLYGON)
    paths = offset.Execute(distance)
    return cv2.boxPoints(cv2.minAreaRect(np.array(paths[0], np.float32))) if paths else None


def clockwise(box):
    """From the corner nearest to the top left."""
    by_x = box[np.argsort(box[:, 0])]
    left, right = by_x[:2][np.argsort(by_x[:2, 1])], by_x[2:][np.argsort(by_x[2:, 1])]
    return np.array([left[0], right[0], right[1], left[1]], np.float32)


def reading_order(boxes):
    """Lines from top to bottom, each from left to right: boxes whose middles differ by under half a height share a line."""
    boxes = sorted(boxes, key=lambda b: b[:, 1].mean())
    lines = []
    for box in boxes:
        middle, height = box[:, 1].mean(), np.linalg.norm(box[3] - box[0])
        if lines and abs(lines[-1][0] - middle) < height / 2:
            lines[-1][1].append(box)
        else:
            lines.append((middle, [box]))
    return [box for _, line in lines for box in sorted(line, key=lambda b: b[:, 0].min())]
