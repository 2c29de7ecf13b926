# SPDX-License-Identifier: Apache-2.0
"""Text recognition with a CTC model: cut-out lines in, strings out.

Method: A. Graves et al., "Connectionist Temporal Classification", ICML 2006, best-path decoding.
"""
import cv2
import numpy as np

HEIGHT = 48          # pixels of a line, as the model was trained
WIDTH_STEP = 64      # widths are padded to multiples: few shapes to prepare
SMALLEST_WIDTH = 320


def cut(picture, box):
    """The quadrilateral straightened to a rectangle; tall ones are turned."""
    width = int(max(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[3] - box[2])))
    height = int(max(np.linalg.norm(box[0] - box[3]), np.linalg.norm(box[1] - box[2])))
    width, height = max(width, 1), max(height, 1)
    corners = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    line = cv2.warpPerspective(picture, cv2.getPerspectiveTransform(np.float32(box), corners), (width, height),
                               borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)
    return np.rot90(line) if height >= 1.5 * width else line


def preprocess(line):
    """BGR uint8 [h, w, 3] -> float32 [1, 3, 48, W], W a multiple of 64, zeros to the right."""
    width = max(1, round(HEIGHT * line.shape[1] / line.shape[0]))
    resized = cv2.resize(line, (width, HEIGHT)).astype(np.float32)
    padded_width = max(SMALLEST_WIDTH, -(-width // WIDTH_STEP) * WIDTH_STEP)
    batch = np.zeros((1, 3, HEIGHT, padded_width), np.float32)
    batch[0, :, :, :width] = ((resized / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    return batch


def decode(probabilities, characters):
    """float32 [T, classes] -> (text, mean probability of its characters). Class 0 is the blank."""
    best = probabilities.argmax(axis=1)
    kept = [t for t in range(len(best)) if best[t] != 0 and (t == 0 or best[t] != best[t - 1])]
    text = "".join(characters[best[t]] for t in kept)
    return text, float(np.mean([probabilities[t, best[t]] for t in kept])) if kept else 0.0


def characters_of(model_path):
    """The alphabet that the model carries in its metadata: blank, the listed characters, space."""
    import onnx

    metadata = {p.key: p.value for p in onnx.load(model_path, load_external_data=False).metadata_props}
    return ["", *metadata["character"].splitlines(), " "]
