import pytest

from agspec_tui.session.outline import failing_tests, frame_counts, is_test, rank

REPO = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return price_of(self)\n",
    "shop/money.py": "def price_of(cart):\n    return 0\n\ndef as_text(n):\n    return str(n)\n",
    "shop/other.py": "def unrelated():\n    pass\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\ndef test_total():\n    assert Cart()\n",
    "tests/test_other.py": "from shop.other import unrelated\n\ndef test_unrelated():\n    pass\n",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/x.py", True),
        ("a/test_x.py", True),
        ("x_test.go", True),
        ("src/x.test.js", True),
        ("src/__tests__/x.js", True),
        ("conftest.py", True),
        ("src/contest.py", False),
        ("src/latest.py", False),
        ("attest_x.py", False),
        ("testing_ground.py", False),
    ],
)
def test_tests_are_told_by_name_or_folder(path, expected):
    assert is_test(path) is expected


def test_frames_are_counted_by_whole_path():
    output = 'File "shop/cart.py", line 3\nshop/money.py:2: Error\nxshop/other.py:1\n'
    assert frame_counts(REPO, output) == {"shop/cart.py": 1, "shop/money.py": 1}


@pytest.mark.parametrize(
    ("issue", "output", "failing", "first"),
    [
        ("it is wrong", 'File "shop/money.py", line 2, in price_of', [], "shop/money.py"),
        ("other.py is wrong", "", [], "shop/other.py"),
        ("shop.other is wrong", "", [], "shop/other.py"),
        ("`as_text` prints no sign", "", [], "shop/money.py"),
        ("wrong", 'File "tests/test_cart.py", line 4, in test_total', [], "shop/cart.py"),
        ("wrong", "", ["tests.test_other.Case.test_unrelated"], "shop/other.py"),
    ],
)
def test_the_likeliest_file_stands_first(issue, output, failing, first):
    assert rank(REPO, issue, output, failing)[0].path == first


def test_tests_are_no_candidates():
    assert {one.path for one in rank(REPO, "tests/test_cart.py", "", [])} == {
        "shop/cart.py", "shop/money.py", "shop/other.py",
    }  # fmt: skip


def test_failing_test_files_are_found_by_frame_or_by_name():
    assert failing_tests(REPO, "tests/test_cart.py:4: AssertionError", []) == ["tests/test_cart.py"]
    assert failing_tests(REPO, "", ["test_unrelated"]) == ["tests/test_other.py"]
    assert failing_tests(REPO, "", ["tests/test_other.py::test_unrelated"]) == [
        "tests/test_other.py"
    ]


def test_prose_and_settings_are_candidates_only_if_the_issue_names_them():
    texts = {"app.py": "def run(): ...\n", "ISSUE.md": "# Bug\n", "setup.cfg": "[x]\n"}
    assert [one.path for one in rank(texts, "it fails", "", [])] == ["app.py"]
    assert {one.path for one in rank(texts, "setup.cfg is wrong", "", [])} == {
        "app.py", "setup.cfg",
    }  # fmt: skip
