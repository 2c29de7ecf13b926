#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of one folder are compiled together (wootz_unity in cmake/wootz_library.cmake), so their anonymous namespaces are one.

Prints every type, constant, alias or function that two of them define there in the same namespace. Exit status 1 where there is one.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{", re.M)
# Not compiled together: own flags, or several instruction sets from one file.
ALONE = re.compile(r"(_test|_bench|_avx2|_avx512|_avx512vnni|_hwy|_portable)\.cpp$")
DEFINITIONS = [
    re.compile(r"^(?:struct|class|enum class|enum) (\w+)[^;(]*\{", re.M),
    re.compile(r"^(?:static )?(?:constexpr|const) [\w:<>,* ]*?(\w+)(?:\[\w*\])? ?(?:=|\{)", re.M),
]
ALIAS = re.compile(r"^using (\w+) = ([^;]*);", re.M)  # may be repeated, if it says the same
FUNCTION = re.compile(r"^(?!return|template|using|struct|class|constexpr \w+ \w+ =)[\w\[\]][\w:<>,*& \[\]]*?[ *&](\w+)\(([^;{}]*?)\)(?: const)? *(?:noexcept )?\{", re.M)


def blocks(text):
    """(enclosing namespace, body) of each anonymous namespace; formatted code closes a namespace in column 0."""
    around = []
    lines = text.split("\n")
    body, inside = [], False
    for line in lines:
        opened = NAMESPACE.match(line)
        if opened and not inside and opened.group(1) == "":
            inside, body = True, []
        elif opened and not line.rstrip().endswith("}"):
            around.append(opened.group(1))
        elif line.startswith("}  // namespace"):
            if inside and line.rstrip() == "}  // namespace":
                yield "::".join(around), "\n".join(body)
                inside = False
            elif around:
                around.pop()
        elif inside:
            body.append(line)


def parameters(text):
    """The types of a parameter list, names and defaults dropped."""
    text = re.sub(r"\s+", " ", re.sub(r"=[^,]*", "", text)).strip()
    return ",".join(re.sub(r"(?<=[&*> \w])\b\w+$", "", p.strip()).strip() if " " in p.strip() or p.strip().count("&") else p.strip()
                    for p in text.split(",")) if text else ""


def names(path):
    """(namespace, name, meaning): where two meanings share a name, the files cannot be compiled together."""
    for space, body in blocks(path.read_text()):
        for pattern in DEFINITIONS:
            for found in pattern.finditer(body):
                yield space, found.group(1), path.name
        for found in ALIAS.finditer(body):
            yield space, found.group(1), found.group(2)
        for found in FUNCTION.finditer(body):
            yield space, f"{found.group(1)}({parameters(found.group(2))})", path.name


def main():
    failed = False
    folders = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(set)))
    for top in ("src", "cli"):
        for path in sorted((ROOT / top).rglob("*.cpp")):
            if not ALONE.search(path.name):
                for space, name, meaning in names(path):
                    folders[path.parent.relative_to(ROOT)][space, name][meaning].add(path.name)
    for folder, keys in folders.items():
        for (space, name), meanings in sorted(keys.items()):
            if len(meanings) > 1:
                failed = True
                files = sorted(set().union(*meanings.values()))
                print(f"{folder}: {name} of {space or 'the global namespace'} in {', '.join(files)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
