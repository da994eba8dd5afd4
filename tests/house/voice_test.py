"""At most 6 % of a room's comments have a turn of phrase that is hard to read for a person with another first language (HARD)."""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 0.06
SHORTEST = 12  # shorter comments do not count
HARD = re.compile(r"^(Of|What|That|Those|Nor)\b|\bwhat (is|it|they|nobody|was|are|has)\b|\b(is|are) (no|none)\b|\b(those|that) of\b"
                  r"|\bsays nothing\b|\bof ours\b|\bof which\b|\bwhose\b")
COMMENT = re.compile(r"(?:^|[^:])//+!?<?\s?(.*)|^\s*/?\*+\s(.*)")
COMMENT_OF_PYTHON = re.compile(r"(?:^|\s)#\s?(.*)")
DOCSTRING = re.compile(r'(?:\A(?:#.*\n)*|:\n)\s*r?"""(.*?)"""', re.DOTALL)
ENDINGS = (".cpp", ".hpp", ".h", ".c", ".cl", ".inc", ".js", ".ts", ".py")


def comments_in(path):
    """(line number, comment) of each line with a comment or a part of a docstring."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    sign, pattern = ("#", COMMENT_OF_PYTHON) if path.endswith(".py") else ("//", COMMENT)
    for number, line in enumerate(text.splitlines(), 1):
        if (sign in line or "*" in line) and (comment := pattern.search(line)):
            yield number, comment[comment.lastindex]
    for docstring in DOCSTRING.finditer(text) if path.endswith(".py") else ():
        for number, line in enumerate(docstring[1].splitlines(), text.count("\n", 0, docstring.start(1)) + 1):
            yield number, line.strip()


def hard_comments(root):
    """{room: (the number of its comments, the hard ones as "path:line: comment")}. A room is a folder of a wing, else a top folder."""
    rooms = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "build", "__pycache__")))
        parts = os.path.relpath(folder, root).split(os.sep)
        count, hard = rooms.setdefault("/".join(parts[:3] if parts[0] == "stats" else parts[:1]), ([], []))
        for name in sorted(each for each in names if each.endswith(ENDINGS)):
            path = os.path.join(folder, name)
            comments = [each for each in comments_in(path) if len(each[1]) >= SHORTEST]
            count += comments
            hard += [f"{os.path.relpath(path, root)}:{number}: {text}" for number, text in comments if HARD.search(text)]
    return {room: (len(count), hard) for room, (count, hard) in rooms.items() if count}


class Voice(unittest.TestCase):
    def test_each_room_speaks_plainly(self):
        rooms = hard_comments(ROOT)
        self.assertGreater(len(rooms), 20)
        for room, (count, hard) in rooms.items():
            with self.subTest(room):
                self.assertLessEqual(len(hard), max(1, LIMIT * count), "\n" + "\n".join(hard))


if __name__ == "__main__":
    unittest.main()
