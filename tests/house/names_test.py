"""Variables, parameters and members are nouns: none is named of, at, found, said, held or who. Functions may be.
In Python no function or class hides another one of the same name in the same body: a hidden test never runs."""
import ast
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = ("of", "at", "found", "said", "held", "who")
PUBLIC = ["stats/bindings/python/tensorstat/_alerts.py: found",  # Stopped(found=...)
          "stats/bindings/python/tensorstat/_findings.py: found"]  # Findings(found=...)
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\])+'""", re.DOTALL)
# A name that is not called, qualified, a member behind "." or "->", or an argument by itself, since functions are that, too. The second part
# finds objects that are made with () and may have no further use, such as locks.
VARIABLE = re.compile(r"(?<![\w.])(?<!->)(?<!::)(?<!return )(?!(?:(?<=\()|(?<=, ))(?:NAME)[,)])(NAME)\b(?!\(|<|::)"
                      r"|(?:\bconst [\w:]+|lock|guard)(?:<[^;\n]*>)? (NAME)\(".replace("NAME", "|".join(NAMES)))
BINDING = {ast.Name: "id", ast.arg: "arg", ast.alias: "asname", ast.ExceptHandler: "name", ast.MatchAs: "name", ast.MatchStar: "name",
           ast.MatchMapping: "rest"}
CPP = (".cpp", ".hpp", ".h", ".c", ".cl", ".inc")
NOTICED = ("auto at = 1;", "int i = 0, at = 0;", "const T& found;", "void f(int at, T of)", "const auto& [at, found] = x;", "for (auto& who : x)",
           "[held = x] {}", "T* const at{p};", "T (*of)(int);", "std::unique_lock<std::mutex> held(mutex);", "const std::lock_guard held(mutex);",
           "T found(1);\nfound += 1;", "'\"'; at = 1'000; '\"';")
OTHERS = ("v.at(i)", "T::of(x)", "T of(U x);", "found()", "return at;", "p->held = x.found;", "std::call(&T::of, at<int>)", "f(x, at)", "f(of, x)",
          '"said: \\" at = 1"', 'R"x(at = ")" )x"', "// at = 1", "/* at\n = 1 */", "that = format + whom;")
NOTICED_IN_PYTHON = ("at = 1", "for at, x in y: pass", "def f(x, *, of=1): pass", "lambda who: 1", "with x as (said, y): pass", "[at for at in x]",
                     "if (found := x): pass", "try: pass\nexcept E as held: pass", "class C:\n    of: int = 1", "import x as at")
OTHERS_IN_PYTHON = ("def found(x): x.at(found(), of=1)", "x.held = 'at = 1'")


def names_in_cpp(text):
    """(line number, name) of each use of a variable of C++ that has one of NAMES."""
    code = NO_CODE.sub(lambda match: '""' + "\n" * match[0].count("\n"), text)
    for match in VARIABLE.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match[match.lastindex]


def names_in_python(text):
    """(line number, name) of each binding of a variable of Python to one of NAMES."""
    for node in ast.walk(ast.parse(text)):
        name = getattr(node, BINDING.get(type(node), ""), None)
        if name in NAMES and not isinstance(getattr(node, "ctx", None), ast.Load):
            yield node.lineno, name


def hidden_in_python(text):
    """(line number, name) of each def or class that takes the name of another one of its body, which has no decorator."""
    for node in ast.walk(ast.parse(text)):
        names = set()
        for each in getattr(node, "body", []) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) else []:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if each.name in names:
                    yield each.lineno, each.name
                names.update([] if each.decorator_list else [each.name])


def sources(endings):
    """(path below the root, text) of each source."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "build", "__pycache__")))
        for path in (os.path.join(folder, each) for each in sorted(names) if each.endswith(endings)):
            with open(path, encoding="utf-8") as file:
                yield os.path.relpath(path, ROOT), file.read()


class Names(unittest.TestCase):
    def test_no_variable_has_such_a_name(self):
        files, variables = 0, []
        for path, text in sources((*CPP, ".py", ".pyi")):
            files += 1
            lines = (names_in_cpp if path.endswith(CPP) else names_in_python)(text)
            variables += [f"{path}:{number}: {name}" for number, name in lines]
        self.assertGreater(files, 1500)
        self.assertEqual([re.sub(r":\d+", "", each) for each in variables], PUBLIC, "\n" + "\n".join(variables))

    def test_no_definition_hides_another(self):
        self.assertEqual([f"{path}:{number}: {name}" for path, text in sources((".py",)) for number, name in hidden_in_python(text)], [])
        for text in ("class A: pass\nclass A: pass", "class A:\n def f(self): pass\n def f(self): pass", "def f():\n def g(): pass\n def g(): pass"):
            self.assertEqual(len(list(hidden_in_python(text))), 1, text)
        for text in ("@overload\ndef f(): pass\n@other\ndef f(): pass", "if a:\n def f(): pass\nelse:\n def f(): pass"):
            self.assertEqual(list(hidden_in_python(text)), [], text)

    def test_each_form_is_told(self):
        for names_in, noticed, others in ((names_in_cpp, NOTICED, OTHERS), (names_in_python, NOTICED_IN_PYTHON, OTHERS_IN_PYTHON)):
            for line in noticed + others:
                with self.subTest(line):
                    self.assertEqual(bool(list(names_in(line))), line in noticed)


if __name__ == "__main__":
    unittest.main()
