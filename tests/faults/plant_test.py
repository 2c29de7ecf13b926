# SPDX-License-Identifier: Apache-2.0
"""plant.py refuses a fault that does not fit the sources, and what it plants says so when it is reached."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import plant

FAULT = {"name": "one-too-few", "area": "kernels", "what": "the last element is left out", "file": "src/a.cpp", "find": "i < n;",
         "plant": "i < n - FAULT;"}
HOOKED = "src/backends/cuda/cuda_kernel.cpp"
PROGRAM = """#include <cstdio>
int main() { int n = 3; for (int i = 0; i < n; ++i) std::printf("%d", i); }
"""


class Plant(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.scratch.name)
        for path, text in {"src/a.cpp": PROGRAM, HOOKED: "source.text = constants;"}.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def tearDown(self):
        self.scratch.cleanup()

    def faults(self, **changes):
        fault = {key: value for key, value in {**FAULT, **changes}.items() if value is not None}
        path = self.root / "faults.toml"
        path.write_text("[[fault]]\n" + "".join(f"{key} = '''{value}'''\n" for key, value in fault.items()))
        return plant.read_faults(path)

    def run_program(self, fault):
        return subprocess.run([self.root / "out/a"], env={"WOOTZ_FAULT": fault} if fault else {}, capture_output=True, text=True)

    def test_a_fault_sleeps_until_it_is_named(self):
        plant.write_tree(self.root / "out", plant.planted_texts(self.faults(), self.root), self.root)
        out = self.root / "out"
        subprocess.run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", f"-I{out}/src", out / "src/a.cpp",
                        out / "src/base/planted_fault.cpp", "-o", out / "a"], check=True)
        self.assertEqual((self.run_program("").stdout, self.run_program("").stderr), ("012", ""))
        awake = self.run_program("one-too-few")
        self.assertEqual((awake.stdout, awake.stderr), ("01", "planted fault one-too-few was reached\n"))
        asked = self.run_program("?")
        self.assertEqual((asked.stdout, asked.stderr), ("012", "planted fault one-too-few was reached\n"))
        self.assertEqual(self.run_program("one-too-fwe").returncode, 99)

    def test_faults_that_do_not_fit_are_refused(self):
        for changes, part in [({"find": "i <= n;"}, "found it 0 times"), ({"find": "i"}, "times"), ({"plant": "i < n - 1;"}, "FAULT"),
                              ({"area": "weather"}, "area"), ({"name": "Two Words"}, "name of its own"), ({"what": None}, "'what'"),
                              ({"file": None}, "file, find and plant")]:
            with self.assertRaises(plant.Mistake, msg=str(changes)) as caught:
                plant.planted_texts(self.faults(**changes), self.root)
            self.assertIn(part, str(caught.exception))

    def test_the_project_s_own_faults_fit(self):
        path = pathlib.Path(plant.__file__).with_name("faults.toml")
        plant.planted_texts(plant.read_faults(path))


if __name__ == "__main__":
    sys.exit(unittest.main())
