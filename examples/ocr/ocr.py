#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the text in a picture with two trained networks, each compiled by Wootz, and times ONNX Runtime beside it.

    ocr.py [IMAGE] [-o ANNOTATED.png] [--threads N]

The networks are PP-OCRv4's detector and recogniser, which the package rapidocr-onnxruntime ships.
"""
import argparse
import importlib.util
import os
import sys
import time

import cv2
import numpy as np

import detection
import recognition
import wootz

HERE = os.path.dirname(os.path.abspath(__file__))


def model_folder():
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec is None:
        sys.exit("ocr.py: the package rapidocr-onnxruntime, which ships the networks, is not installed; run ./run demo")
    return os.path.join(spec.submodule_search_locations[0], "models")


class Clock:
    """Adds up seconds by stage."""

    def __init__(self):
        self.seconds = {}

    def __call__(self, stage, function, *arguments):
        start = time.perf_counter()
        result = function(*arguments)
        self.seconds[stage] = self.seconds.get(stage, 0) + time.perf_counter() - start
        return result


def progress(stage, detail, fraction):
    if sys.stderr.isatty():
        print(f"\r\033[K  {fraction:4.0%} {stage} {detail[:40]}", end="", file=sys.stderr, flush=True)


def verification(engine):
    worst = max((row["relative"] for row in engine.verify()), default=0)
    return f"against the imported graph: relative error {worst:.1e}"


def compile_network(label, path, shape, threads, cache):
    """An engine from the cache beside the build, or built now."""
    engine_path = os.path.join(cache, os.path.basename(path).replace(".onnx", f".{threads}t.wtz"))
    start = time.perf_counter()
    if os.path.exists(engine_path):
        try:
            engine = wootz.load(engine_path)
            print(f"{label}: loaded {os.path.relpath(engine_path)} in {time.perf_counter() - start:.2f} s; {verification(engine)}")
            return engine
        except wootz.Error as error:
            print(f"{label}: {error}")
    engine = wootz.build(path, shapes={"x": shape}, threads=threads, progress=progress)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    os.makedirs(cache, exist_ok=True)
    engine.save(engine_path)
    print(f"{label}: compiled in {time.perf_counter() - start:.1f} s; {verification(engine)}")
    return engine


def read_text(picture, detect, recognise, characters, clock):
    """[(box, text, confidence)] in reading order. detect and recognise map one array to one array."""
    batch = clock("prepare", detection.preprocess, picture)
    probability = clock("detect", detect, batch)
    boxes = clock("find boxes", detection.boxes_from_map, probability[0, 0], picture.shape)
    found = []
    for box in boxes:
        line = clock("cut", lambda b: recognition.preprocess(recognition.cut(picture, b)), box)
        probabilities = clock("recognise", recognise, line)
        text, confidence = clock("decode", recognition.decode, probabilities[0], characters)
        if text.strip():
            found.append((box, text, confidence))
    return found


def wootz_runner(engine):
    context = engine.context()
    return lambda x: next(iter(context.run({"x": x}).values()))


def onnxruntime_runner(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def timed(read, rounds=3):
    """Network seconds by stage: the best of some rounds after one that prepares shapes."""
    best = {}
    for i in range(rounds + 1):
        clock = Clock()
        read(clock)
        if i > 0:
            best = {k: min(v, best.get(k, v)) for k, v in clock.seconds.items()}
    return best


def check_writable(path):
    """Known before the work, not after it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not cv2.haveImageWriter(path):
        sys.exit(f"ocr.py: --output: expected a name that ends in .png or .jpg, found '{path}'")
    is_other = os.path.exists(path) and not os.path.isfile(path)
    if is_other or not os.access(folder, os.W_OK):
        sys.exit(f"ocr.py: cannot write '{path}': expected a file in a folder that can be written to")


def annotate(picture, found, path):
    for number, (box, _, _) in enumerate(found, 1):
        points = np.round(box).astype(np.int32)
        cv2.polylines(picture, [points], True, (0, 140, 255), 2, cv2.LINE_AA)
        cv2.putText(picture, str(number), tuple(int(v) for v in points[0] - [0, 4]), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 140, 255), 2, cv2.LINE_AA)
    if not cv2.imwrite(path, picture):
        sys.exit(f"ocr.py: cannot write '{path}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", nargs="?", default=os.path.join(HERE, "sample.png"))
    parser.add_argument("-o", "--output", default="annotated.png")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cache", default="engines", help="folder for the compiled engines")
    arguments = parser.parse_args()

    check_writable(arguments.output)
    try:
        picture = cv2.imread(arguments.image, cv2.IMREAD_COLOR)
    except cv2.error as error:  # more pixels than OpenCV reads
        sys.exit(f"ocr.py: '{arguments.image}': {error.err}; make the picture smaller")
    if picture is None:
        sys.exit(f"ocr.py: expected a picture (PNG, JPEG, ...), found '{arguments.image}', which does not decode as one")
    folder = model_folder()
    detector_path = os.path.join(folder, "ch_PP-OCRv4_det_infer.onnx")
    recogniser_path = os.path.join(folder, "ch_PP-OCRv4_rec_infer.onnx")
    characters = recognition.characters_of(recogniser_path)

    shape = detection.preprocess(picture).shape
    detector = compile_network("detector", detector_path, shape, arguments.threads, arguments.cache)
    recogniser = compile_network("recogniser", recogniser_path, (1, 3, 48, 320), arguments.threads, arguments.cache)

    ours = wootz_runner(detector), wootz_runner(recogniser)
    found = read_text(picture, *ours, characters, Clock())
    print(f"\n{os.path.basename(arguments.image)}, {picture.shape[1]} x {picture.shape[0]}: {len(found)} lines of text")
    for number, (_, text, confidence) in enumerate(found, 1):
        print(f"{number:3}  {confidence:4.0%}  {text}")

    theirs = onnxruntime_runner(detector_path, arguments.threads), onnxruntime_runner(recogniser_path, arguments.threads)
    seconds = timed(lambda clock: read_text(picture, *ours, characters, clock))
    peer_seconds = timed(lambda clock: read_text(picture, *theirs, characters, clock))
    same = [t for _, t, _ in read_text(picture, *theirs, characters, Clock())] == [t for _, t, _ in found]
    print(f"\n{'stage':12}{'Wootz':>10}{'ONNX Runtime':>15}   ({arguments.threads} threads)")
    for stage in seconds:
        peer = f"{peer_seconds[stage] * 1e3:12.1f} ms" if stage in ("detect", "recognise") else ""
        print(f"{stage:12}{seconds[stage] * 1e3:7.1f} ms{peer}")
    print("ONNX Runtime reads " + ("the same text" if same else "a different text"))

    annotate(picture, found, arguments.output)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
