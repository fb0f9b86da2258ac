import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.paths import clean, from_info, from_line, looks_like_path


@pytest.mark.parametrize(
    ("spelled", "path"),
    [
        ("src/app.py", "src/app.py"),
        ("./src//app.py", "src/app.py"),
        (" src/app.py ", "src/app.py"),
        ("src\\app.py", "src/app.py"),
        ("/home/me/repo/src/app.py", "src/app.py"),
        ("dir\\CreateAnItems (1).cpp", "dir/CreateAnItems (1).cpp"),
        (".gitignore", ".gitignore"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("py/a.py", "py/a.py"),
        ("Makefile", "Makefile"),
        ("a..b.py", "a..b.py"),
    ],
)
def test_paths_become_relative_with_slashes(spelled, path):
    assert clean(spelled, "/home/me/repo") == path


@pytest.mark.parametrize(
    ("spelled", "why"),
    [
        ("../x.py", "climbs"),
        ("src/../../x.py", "climbs"),
        ("src/../x.py", "climbs"),
        ("..\\x.py", "climbs"),
        ("/etc/passwd", "outside"),
        ("/home/me/repo2/x.py", "outside"),
        ("/home/me/repo/../x.py", "climbs"),
        ("C:\\x.py", "outside"),
        ("C:x.py", "outside"),
        ("\\\\host\\share\\x.py", "outside"),
        ("~/x.py", "outside"),
        (".git/config", r"\.git"),
        ("sub/.GIT/hooks/pre-commit", r"\.git"),
        (".git./config", r"\.git"),
        ("", "names no file"),
        (".", "names no file"),
        ("src/", "names no file"),
        ("py", "extension"),
        ("md", "extension"),
        (".py", "extension"),
        ("src/.ts", "extension"),
        ("a\0.py", "control"),
        ("a\nb.py", "control"),
    ],
)
def test_paths_that_lead_astray_are_refused(spelled, why):
    with pytest.raises(EditError, match=why) as caught:
        clean(spelled, "/home/me/repo")
    assert caught.value.hint


def test_without_a_root_every_absolute_path_is_outside():
    with pytest.raises(EditError, match="outside"):
        clean("/home/me/repo/src/app.py")


@pytest.mark.parametrize("text", ["https://x.org/a.py", "x = 1;", "Hello!", "a<b>.py", "", "..."])
def test_other_texts_do_not_look_like_paths(text):
    assert not looks_like_path(text)


def test_a_sentence_gives_its_one_marked_path():
    assert from_line("Change `src/a.py` like this:") == ("src/a.py", False)
    assert from_line("Move `src/a.py` to `src/b.py`:") is None
    assert from_line("Run `pytest tests/a.py` now:") is None


def test_an_info_string_may_be_a_language_alone():
    assert from_info("python") is None
    assert from_info("c++") is None
    assert from_info("{.python}") is None
