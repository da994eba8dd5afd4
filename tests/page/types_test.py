"""The page's scripts pass `tsc --checkJs`: no unknown name, no call with a wrong kind of value. Skipped where tsc is missing."""
import glob
import os
import shutil
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../stats/show/page")

if not shutil.which("tsc"):
    print("tsc is not installed (node-typescript): the types of the page's scripts are not tested here", file=sys.stderr)
    sys.exit(0)
CHECK = ["tsc", "--allowJs", "--checkJs", "--noEmit", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"]
checked = subprocess.run(CHECK + sorted(glob.glob(FOLDER + "/*.js")) + [FOLDER + "/page.d.ts"], capture_output=True, text=True)
print(checked.stdout + checked.stderr)
sys.exit(checked.returncode)
