#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What verification costs of each build: verify_share.py FOLDER, a folder of collect_builds.py."""
import glob
import json
import os
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = []
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
        facts = json.load(open(path))["facts"]
        verify, build = float(facts.get("verify_seconds", 0)), float(facts["build_seconds"])
        rows.append((verify / build, os.path.splitext(os.path.basename(path))[0], verify, build))
    print("| network | verification, s | build, s | share |\n| --- | --- | --- | --- |")
    for share, name, verify, build in sorted(rows, reverse=True):
        print(f"| {name} | {verify:.2f} | {build:.2f} | {100 * share:.0f}% |")
    print(f"| all {len(rows)} | {sum(r[2] for r in rows):.1f} | {sum(r[3] for r in rows):.1f} | "
          f"{100 * sum(r[2] for r in rows) / sum(r[3] for r in rows):.0f}% |")
    print(f"\n{sum(r[0] <= 0.2 for r in rows)} of {len(rows)} at most 20%, {sum(r[0] <= 0.25 for r in rows)} at most 25%")


if __name__ == "__main__":
    main()
