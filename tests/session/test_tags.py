import pytest

from agspec_tui.session.tags import stems, tags_of

SOURCES = {
    "a.py": (
        "X = 3\n\n\ndef a():\n    return b(X)\n\n\nclass B:\n    def __init__(self): ...\n"
        "    async def c(self): ...\n# def not_this\n",
        {"X": 1, "a": 4, "B": 8, "c": 10},
        {"b", "X"},
    ),
    "a.js": (
        "export function f() {}\nexport const g = () => 1;\n"
        "const K = 3;\nclass H { m() { g(K) } }\n",
        {"f": 1, "g": 2, "K": 3, "H": 4, "m": 4},
        {"g", "K"},
    ),
    "a.ts": (
        "interface I { x: T }\nexport type U = I;\nexport class C<V> { m(): U { return f() } }\n",
        {"I": 1, "U": 2, "C": 3, "m": 3},
        {"T", "I", "U", "f"},
    ),
    "a.tsx": ("export const F = () => <b>{g()}</b>;\n", {"F": 1}, {"g"}),
    "a.go": (
        "package x\nconst Max = 3\ntype Cart struct { n int }\n"
        "func (c *Cart) Total() int { return Max }\nfunc New() {}\n",
        {"Max": 2, "Cart": 3, "Total": 4, "New": 5},
        {"Cart", "Max"},
    ),
    "a.rs": (
        "pub fn a() {}\npub(crate) struct B;\nenum C {}\nimpl B { fn m(&self) { a() } }\n",
        {"a": 1, "B": 2, "C": 3, "m": 4},
        {"B", "a"},
    ),
    "a.c": (
        "#define MAX 3\nstruct s { int a; };\nstatic int f(int x) { return g(MAX); }\n"
        "char *p(void) { return 0; }\n",
        {"MAX": 1, "s": 2, "f": 3, "p": 4},
        {"g", "MAX"},
    ),
    "a.cpp": (
        "namespace n { class A { int m() { return 1; } }; }\nint n::A::k() { return m(); }\n",
        {"n": 1, "A": 1, "m": 1},
        {"m"},
    ),
    "A.java": (
        "class A { int m() { return n(); } interface I {} enum E {X} }\n",
        {"A": 1, "m": 1, "I": 1, "E": 1},
        {"n"},
    ),
    "a.sh": ("X=3\nf() { g $X; }\n", {"X": 1, "f": 2}, {"g", "X"}),
    "a.rb": ("def a\n  price_of\nend\nclass B\nend\n", {"a": 1, "B": 4}, {"price_of"}),
}


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_and_uses_are_found_in_every_language(path):
    text, defined, used = SOURCES[path]
    found = tags_of(path, text)
    assert dict(found.defined).items() >= defined.items()
    assert used <= set(found.used)


def test_a_name_in_a_comment_or_a_string_is_no_use():
    found = tags_of("a.py", "# price_of\nx = 'price_of'\n")
    assert "price_of" not in found.used
    assert found.words["pric"] == 2


@pytest.mark.parametrize("text", ["", "def (:\n", "\0\0", "x" * 500_000, "\ud800 = 1\n"])
def test_odd_text_has_tags_too(text):
    assert set(tags_of("a.py", text).defined) <= {"x"}


def test_words_of_prose_and_names_meet():
    assert stems("readTaskFiles") == stems("reading a task_file")[:1] + stems("task file")
