"""install_missing of stats/packages.sh: a package that a system lacks is left out with one line, a needed one is an error,
nothing is removed, and pocl is not asked for beside another OpenCL driver. apt and dpkg are stand-ins here."""
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAKES = {
    # A line for each installed package: its name, and the packages that it provides.
    "dpkg-query": """while read -r name provides; do
  case "$*" in
    *Provides*) echo "installed $provides" ;;
    *" $name") echo installed ;;
  esac
done <"$FAKE/installed"
""",
    "apt-cache": """for name in "$@"; do
  if grep -qx "$name" "$FAKE/known"; then printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n' "$name"; fi
done
""",
    "apt-get": """echo "$*" >>"$FAKE/calls"
for name in "$@"; do
  if [ "$1" != update ] && grep -qx "$name" "$FAKE/refused"; then exit 100; fi
done
""",
    "ldconfig": "echo '\tlibknown.so.1 (libc6,x86-64) => /usr/lib/libknown.so.1'\n",
}


class InstallMissing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in FAKES.items():
            self.write(name, "#!/bin/bash\n" + text)
            os.chmod(os.path.join(self.folder, name), 0o755)
        for name in ("installed", "refused", "calls"):
            self.write(name, "")
        self.known("libc6", "g++", "oclgrind", "pocl-opencl-icd", "libhdf5-dev")
        os.mkdir(os.path.join(self.folder, "vendors"))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def known(self, *names):
        self.write("known", "".join(name + "\n" for name in names))

    def install(self, *packages, code=0):
        """Returns stderr, and the packages of each call that installs."""
        environment = {**os.environ, "PATH": self.folder + ":" + os.environ["PATH"], "FAKE": self.folder,
                       "OCL_ICD_VENDORS": os.path.join(self.folder, "vendors")}
        ran = subprocess.run(["bash", "-c", 'set -euo pipefail; source stats/packages.sh; install_missing "$@"', "x", *packages],
                             env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, code, ran.stderr)
        self.assertEqual(ran.stdout, "")
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            calls = [call.split() for call in file.read().splitlines()]
        installing = [call for call in calls if "update" not in call]
        for call in installing:
            self.assertIn("--no-remove", call)
        return ran.stderr, [[word for word in call if word != "install" and not word.startswith("-")] for call in installing]

    def test_an_installed_package_is_not_asked_for(self):
        self.write("installed", "g++\n")
        self.assertEqual(self.install("g++"), ("", []))

    @unittest.skipIf(os.geteuid() != 0, "installs as root")
    def test_a_package_that_is_not_there_is_left_out_with_one_line(self):
        self.known("libc6", "g++")
        output, installed = self.install("g++", "oclgrind")
        self.assertEqual(installed, [["g++"]])
        self.assertEqual([line for line in output.splitlines() if "oclgrind" in line],
                         ["Without oclgrind, which this system does not have: oclgrind_test skips, as does what other tests do with it"])

    @unittest.skipIf(os.geteuid() != 0, "installs as root")
    def test_a_needed_package_that_is_not_there_is_an_error(self):
        self.known("libc6", "oclgrind")
        output, installed = self.install("g++", "oclgrind", code=1)
        self.assertIn("These packages are needed, which this system does not have: g++", output)
        self.assertEqual(installed, [])

    @unittest.skipIf(os.geteuid() != 0, "installs as root")
    def test_a_package_that_apt_refuses_does_not_keep_the_others_out(self):
        self.write("refused", "oclgrind\n")
        output, installed = self.install("g++", "oclgrind")
        self.assertEqual(installed, [["g++", "oclgrind"], ["g++"], ["oclgrind"]])
        self.assertIn("Without oclgrind, which apt-get did not install: ", output)
        self.write("refused", "g++\n")
        self.assertIn("needed, which apt-get did not install: g++", self.install("g++", "oclgrind", code=1)[0])

    @unittest.skipIf(os.geteuid() != 0, "installs as root")
    def test_pocl_is_not_asked_for_beside_another_driver(self):
        self.write("installed", "rocm-opencl-icd opencl-icd (= 3.0), something\n")
        self.assertEqual(self.install("pocl-opencl-icd"), ("", []))
        self.write("installed", "")
        for library, expected in (("/nowhere/libgone.so", [["pocl-opencl-icd"]]), ("libgone.so.1", [["pocl-opencl-icd"]]),
                                  (os.path.join(ROOT, "README.md"), []), ("libknown.so.1", [])):
            self.write("vendors/other.icd", library + "\n")
            self.write("calls", "")
            with self.subTest(library):
                self.assertEqual(self.install("pocl-opencl-icd")[1], expected)

    def test_without_root_a_needed_package_is_named_and_another_left_out(self):
        # Root gives itself up for this one. The folder is another user's then, and is only read.
        as_nobody = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        os.chmod(self.folder, 0o755)
        with open(os.path.join(ROOT, "stats", "packages.sh"), encoding="utf-8") as file:
            script = file.read()
        for package, code, words in (("g++", 1, "apt-get install --no-remove g++"), ("oclgrind", 0, "Without oclgrind, which is not installed")):
            ran = subprocess.run([*as_nobody, "bash", "-c", f"set -euo pipefail\n{script}\ninstall_missing {package}"],
                                 env={**os.environ, "PATH": self.folder + ":" + os.environ["PATH"], "FAKE": self.folder}, cwd="/",
                                 capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, code, ran.stderr)
            self.assertIn(words, ran.stderr)

    def test_without_apt_one_line_says_what_is_needed(self):
        tools = tempfile.TemporaryDirectory()
        self.addCleanup(tools.cleanup)
        ran = subprocess.run(["/bin/bash", "-c", "set -euo pipefail; source stats/packages.sh; install_missing g++"], cwd=ROOT,
                             env={"PATH": tools.name}, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertRegex(ran.stderr, "CMake 3.25, Ninja, GCC 12 or clang 14, .*OpenCL.*CLI11")

    def test_every_package_of_the_lists_is_needed_or_says_what_is_lost(self):
        needed = {"g++", "cmake", "ninja-build", "ocl-icd-opencl-dev", "opencl-clhpp-headers", "nlohmann-json3-dev", "libssl-dev",
                  "zlib1g-dev", "libcli11-dev", "libgtest-dev", "libgmp-dev", "python3-numpy", "clang", "libclang-rt-dev"}
        listed = subprocess.run(["bash", "-c", 'source stats/packages.sh; printf "%s\\n" "${build_packages[@]}" "${test_packages[@]}" '
                                 '"${full_packages[@]}" "${fuzz_packages[@]}" -- "${!lost_without[@]}"'], cwd=ROOT,
                                capture_output=True, text=True, check=True).stdout.split()
        all_of_them, optional = set(listed[:listed.index("--")]), set(listed[listed.index("--") + 1:])
        self.assertEqual(all_of_them - optional, needed)
        self.assertEqual(optional - all_of_them, set())

    def test_no_script_installs_or_removes_otherwise(self):
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [name for name in folders if not name.startswith((".build", "build", ".git"))]
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    if not file.read(20).startswith(b"#!") and not name.endswith((".sh", ".yml", ".cmake")):
                        continue
                if path == os.path.abspath(__file__):
                    continue
                with open(path, encoding="utf-8", errors="replace") as file:
                    for line in file:
                        if re.search(r"\b(apt|apt-get|aptitude)( +-\S+)* +(install|remove|purge|autoremove|dist-upgrade|full-upgrade)\b", line):
                            self.assertIn("--no-remove" if "--download-only" not in line else "--download-only", line, path)


class DebianMirror(unittest.TestCase):
    def test_is_read_from_both_formats_of_apt(self):
        cases = {
            "http://a.example/debian": {"sources.list.d/debian.sources": "Types: deb\n# a comment\nURIs: http://a.example/debian\nSuites: trixie trixie-updates\n\n"
                                        "Types: deb\nURIs: http://a.example/security\nSuites: trixie-security\n"},
            "http://b.example/debian/": {"sources.list": "# deb http://no.example/ trixie main\ndeb-src http://source.example/ trixie main\n"
                                         "deb [arch=amd64 signed-by=/x] http://b.example/security trixie-security main\n"
                                         "deb [arch=amd64] http://b.example/debian/ trixie main contrib\n"},
            "http://c.example/debian": {"sources.list.d/a.sources": "Types: deb\nURIs: http://others.example/\nSuites: nodistro\n",
                                        "sources.list.d/b.sources": "Enabled: no\nTypes: deb\nURIs: http://off.example/\nSuites: trixie\n\n"
                                        "Types: deb\nURIs: http://c.example/debian\nSuites: stable\n"},
            "": {"sources.list": "deb cdrom:[Debian] trixie main\n"},
        }
        for expected, files in cases.items():
            with self.subTest(expected), tempfile.TemporaryDirectory() as etc:
                os.makedirs(os.path.join(etc, "apt", "sources.list.d"))
                for name, text in {"../os-release": "ID=debian\nVERSION_CODENAME=trixie\n", **files}.items():
                    with open(os.path.join(etc, "apt", name), "w", encoding="utf-8") as file:
                        file.write(text)
                ran = subprocess.run(["bash", "-c", 'source tests/support/debian.sh; debian_mirror "$@"', "x", etc], cwd=ROOT,
                                     capture_output=True, text=True, check=True)
                self.assertEqual(ran.stdout.strip(), expected, ran.stderr)


if __name__ == "__main__":
    unittest.main()
