# SPDX-License-Identifier: Apache-2.0
"""plant.py OUT [--faults FILE]: writes a copy of the sources to OUT in which the faults of FILE (default: faults.toml
beside this script) are planted and asleep. Configure and build OUT like the product; a program built there has the fault
that the environment variable WOOTZ_FAULT names, and none without it; with WOOTZ_FAULT='?' it has none and says which it comes by.

A fault of the file:

    [[fault]]
    name = "one-word-with-dashes"
    area = "kernels"            # kernels, fusion, passes, memory, layout, shapes, runtime
    what = "one sentence: what is wrong, and how somebody could come to write it"
    file = "src/backends/..."
    find = "text that stands exactly once in that file"
    plant = "what stands there instead, with FAULT (a bool) where the fault is on"

Several places make one fault by a list of edits, each with file, find and plant: edits = [{...}, {...}].
FAULT may stand wherever C++ takes an expression that is no constant, and in the texts of CUDA kernels.
"""
import argparse
import filecmp
import pathlib
import shutil
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "src", "include", "cli", "python", "tests", "tools", "docs", "pyproject.toml"]
AREAS = ["kernels", "fusion", "passes", "memory", "layout", "shapes", "runtime"]

HEADER = """// SPDX-License-Identifier: Apache-2.0
// Faults for tests; written by tests/faults/plant.py.
#pragma once
#include <string>
namespace wootz {
/// Whether WOOTZ_FAULT names it. The first time that it does, a line on the error stream says so.
bool is_planted(const char* name) noexcept;
/// For the texts of CUDA kernels: the definition that wakes the fault.
std::string planted_definition();
}  // namespace wootz
#define WOOTZ_FAULT(name)                                               \\
  ([] {                                                                 \\
    static const bool wootz_fault_is_on = ::wootz::is_planted(name);    \\
    return wootz_fault_is_on;                                           \\
  }())
"""

SOURCE = """// SPDX-License-Identifier: Apache-2.0
#include "base/planted_fault.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wootz {{
namespace {{

const char* const kNames[] = {{{names}}};

const char* chosen() {{
  const char* name = std::getenv("WOOTZ_FAULT");
  if (!name || !*name) return nullptr;
  if (std::strcmp(name, "?") == 0) return name;
  for (const char* known : kNames)
    if (std::strcmp(known, name) == 0) return known;
  std::fprintf(stderr, "WOOTZ_FAULT: no fault is named '%s'\\n", name);
  std::_Exit(99);
}}

}}  // namespace

bool is_planted(const char* name) noexcept {{
  static const char* const which = chosen();
  if (!which) return false;
  const bool asks = std::strcmp(which, "?") == 0;
  if (!asks && std::strcmp(which, name) != 0) return false;
  std::fprintf(stderr, "planted fault %s was reached\\n", name);
  return !asks;
}}

std::string planted_definition() {{
  static const char* const which = chosen();
  if (!which || std::strcmp(which, "?") == 0) return "";
  std::string name = which;
  for (char& c : name)
    if (c == '-') c = '_';
  return "#define WOOTZ_FAULT_" + name + " true\\n";
}}

}}  // namespace wootz
"""


class Mistake(Exception):
    pass


def read_faults(path):
    with open(path, "rb") as file:
        faults = tomllib.load(file).get("fault", [])
    names = set()
    for fault in faults:
        name = fault.get("name", "?")
        for key in ["name", "area", "what"]:
            if not fault.get(key):
                raise Mistake(f"fault '{name}': expected '{key}', found none")
        if name in names or not all(c.islower() or c.isdigit() or c == "-" for c in name):
            raise Mistake(f"fault '{name}': expected a name of its own in small letters, digits and dashes")
        names.add(name)
        if fault["area"] not in AREAS:
            raise Mistake(f"fault '{name}': expected one of {', '.join(AREAS)}, found area '{fault['area']}'")
        fault.setdefault("edits", [{key: fault[key] for key in ("file", "find", "plant") if key in fault}])
        for edit in fault["edits"]:
            if set(edit) != {"file", "find", "plant"}:
                raise Mistake(f"fault '{name}': expected file, find and plant, found {', '.join(edit) or 'nothing'}")
            if "FAULT" not in edit["plant"]:
                raise Mistake(f"fault '{name}': expected FAULT in the planted text")
    return faults


def mark(name, is_cuda):
    return f"WOOTZ_FAULT_{name.replace('-', '_')}" if is_cuda else f'WOOTZ_FAULT("{name}")'


def planted_texts(faults, root=ROOT):
    """File -> text of every file that a fault changes."""
    texts, marked = {}, {}
    hook = {"file": "src/backends/cuda/cuda_kernel.cpp", "find": "source.text = constants",
            "plant": "source.text = ::wootz::planted_definition() + constants"}
    for name, edit in [(f["name"], e) for f in faults for e in f["edits"]] + [("", hook)]:
        path = edit["file"]
        text = texts.get(path) or (root / path).read_text()
        if (count := text.count(edit["find"])) != 1:
            raise Mistake(f"fault '{name}': expected its text once in {path}, found it {count} times:\n{edit['find']}")
        is_cuda = path.endswith((".cu", ".cuh"))
        texts[path] = text.replace(edit["find"], edit["plant"].replace("FAULT", mark(name, is_cuda)))
        marked.setdefault(path, []).append(name)
    for path, names in marked.items():
        if path.endswith((".cu", ".cuh")):
            guards = [f"#ifndef {mark(n, True)}\n#define {mark(n, True)} false\n#endif\n" for n in sorted(set(names))]
            texts[path] = "".join(guards) + texts[path]
        else:
            texts[path] = '#include "base/planted_fault.h"\n' + texts[path]
    names = ", ".join(f'"{f["name"]}"' for f in faults) or "nullptr"
    texts["src/base/planted_fault.h"] = HEADER
    texts["src/base/planted_fault.cpp"] = SOURCE.format(names=names)
    return texts


def write_tree(out, texts, root=ROOT):
    """Files that are as they should be keep their times, so that little is compiled again."""
    wanted = set()
    for entry in COPIED:
        source = root / entry
        files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        for file in files:
            relative = file.relative_to(root)
            wanted.add(relative)
            target = out / relative
            if str(relative) in texts or (target.exists() and filecmp.cmp(file, target, shallow=False)):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)  # with the time of now: what was planted there before is compiled again
    for path, text in texts.items():
        wanted.add(pathlib.Path(path))
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
    for entry in COPIED:
        for file in list((out / entry).rglob("*")):
            if file.is_file() and file.relative_to(out) not in wanted and "__pycache__" not in file.parts:
                file.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--faults", type=pathlib.Path, default=pathlib.Path(__file__).with_name("faults.toml"))
    o = parser.parse_args()
    try:
        faults = read_faults(o.faults)
        write_tree(o.out, planted_texts(faults))
    except Mistake as mistake:
        sys.exit(f"{o.faults}: {mistake}")
    print(f"{len(faults)} faults planted in {o.out}")


if __name__ == "__main__":
    main()
