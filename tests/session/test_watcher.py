import asyncio
import os
import time

import pytest

from agspec_tui.commands import Generate, Message
from agspec_tui.events import StepCommitted
from agspec_tui.forms.types import FileChange
from agspec_tui.session.files import replace_files
from tests.session.following import Following, git, put, until


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "a répo 😀"
    folder.mkdir()
    put(folder, "a.py", "old\n")
    put(folder, "pkg/b.py", "b\n")
    return folder


@pytest.fixture
async def following(root, tmp_path):
    made = Following(root, tmp_path)
    yield made
    await made.stop()


async def test_an_edit_from_outside_reaches_the_corpus_within_a_second(following, root):
    await following.start("opened", "a.py")
    taken_s = []
    for number in range(3):
        started = time.monotonic()
        put(root, "a.py", f"{number}\n")
        await following.until_holds("a.py", f"{number}\n")
        taken_s.append(time.monotonic() - started)
    assert min(taken_s) < 1.0
    assert following.sent == ["a.py"] * 4


async def test_only_files_that_were_opened_are_followed(following, root):
    await following.start("opened", "a.py")
    put(root, "pkg/b.py", "changed\n")
    put(root, "c.py", "new\n")
    await following.still()
    assert following.sent == ["a.py"]


async def test_reading_files_is_no_reason_to_read_them_again(following, root):
    await following.start("repo")
    await following.still()
    for _ in range(3):
        (root / "a.py").read_text()
        list(root.iterdir())
    await asyncio.sleep(0.6)
    assert following.watcher.n_batches == 0


async def test_a_touched_or_rewritten_file_with_the_same_bytes_sends_nothing(following, root):
    await following.start("opened", "a.py")
    os.utime(root / "a.py")
    put(root, "a.py", "old\n")
    put(root, "a.py", "old\r\n")  # the text of the views is the same
    await following.still()
    assert following.sent == ["a.py"]


async def test_many_writes_in_a_row_are_one_batch_and_the_newest_text_is_sent_once(following, root):
    await following.start("opened", "a.py")
    for number in range(20):
        put(root, "a.py", f"{number}\n")
    await following.until_holds("a.py", "19\n")
    assert (following.watcher.n_batches, following.sent) == (1, ["a.py", "a.py"])


def save_over(path, text):
    """As most editors: write beside, move over."""
    beside = path.with_name(f".{path.name}.12~")
    beside.write_text(text)
    beside.replace(path)


def save_with_backup(path, text):
    """As vim: move the old file away, write a new one, remove the old."""
    backup = path.with_name(f"{path.name}~")
    path.rename(backup)
    path.write_text(text)
    backup.unlink()


def save_keeping_backup(path, text):
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(text)


@pytest.mark.parametrize("scope", ["opened", "repo"])
@pytest.mark.parametrize("save", [save_over, save_with_backup, save_keeping_backup])
async def test_a_save_of_an_editor_is_one_change_of_the_file(following, root, scope, save):
    await following.start(scope, *(["a.py"] if scope == "opened" else []))
    await following.still()
    n_before = len(following.sent)
    save(root / "a.py", "new\n")
    await following.until_holds("a.py", "new\n")
    await following.still()
    assert following.sent[n_before:] == ["a.py"]


async def test_a_deleted_file_is_forgotten_and_comes_back_when_it_is_made_again(following, root):
    await following.start("opened", "a.py")
    (root / "a.py").unlink()
    await following.until_holds("a.py", None)
    put(root, "a.py", "back\n")
    await following.until_holds("a.py", "back\n")


def move_aside(root):
    (root / "pkg/b.py").rename(root / "pkg/c.py")
    return "pkg/c.py"


def move_elsewhere(root):
    (root / "other/deep").mkdir(parents=True)
    (root / "pkg/b.py").rename(root / "other/deep/b.py")
    return "other/deep/b.py"


def move_with_git(root):
    (root / "lib").mkdir()
    git(root, "mv", "pkg/b.py", "lib/b.py")
    return "lib/b.py"


def move_folder(root):
    (root / "pkg").rename(root / "renamed")
    return "renamed/b.py"


@pytest.mark.parametrize("scope", ["opened", "repo"])
@pytest.mark.parametrize("move", [move_aside, move_elsewhere, move_with_git, move_folder])
async def test_w04_a_moved_file_is_gone_at_its_old_path_and_followed_at_the_new_one(
    following, root, scope, move
):
    git(root, "init", "-q")
    git(root, "add", ".")
    await following.start(scope, *(["pkg/b.py"] if scope == "opened" else []))
    await following.until_holds("pkg/b.py", "b\n")
    new = move(root)
    await following.until_holds("pkg/b.py", None)
    await following.until_holds(new, "b\n")
    put(root, new, "changed there\n")
    await following.until_holds(new, "changed there\n")


async def test_a_folder_that_is_made_again_is_watched_again(following, root):
    await following.start("opened", "pkg/b.py")
    (root / "pkg/b.py").unlink()
    (root / "pkg").rmdir()
    await following.until_holds("pkg/b.py", None)
    put(root, "pkg/b.py", "back\n")
    await following.until_holds("pkg/b.py", "back\n")
    put(root, "pkg/b.py", "and changed\n")
    await following.until_holds("pkg/b.py", "and changed\n")


async def test_writes_of_the_agent_are_its_own_and_sent_only_once(following, root):
    await following.start("opened", "a.py")
    before = b"old\n"
    for number in range(2):
        text = f"edit {number}\n"
        replace_files(root.resolve(), [FileChange("a.py", before, text.encode())])
        await following.feed.put("a.py", text)
        before = text.encode()
    await following.still()
    assert following.holds("a.py", "edit 1\n")
    assert following.sent == ["a.py"] * 3


async def test_an_edit_that_is_not_on_disk_stays_until_the_next_turn(following, root):
    await following.start("opened", "a.py")
    await following.feed.put("a.py", "staged\n")
    await following.watcher.follow("a.py")
    await asyncio.sleep(0.6)
    assert following.holds("a.py", "staged\n")
    await following.watcher.refresh()
    assert following.holds("a.py", "old\n")


async def test_all_sources_of_a_repository_are_indexed_and_followed(following, root):
    git(root, "init", "-q")
    put(root, ".gitignore", "*.log\n/out/\n")
    put(root, "image.png", b"\x89PNG\0")
    put(root, "huge.py", b"x = 1\n" * 50_000)
    put(root, "web/app.min.js", "f()\n")
    put(root, "poetry.lock", "x\n")
    put(root, "noise.log")
    put(root, "out/made.py")
    put(root, ".env", "KEY=1\n")
    (root / "loop").symlink_to("loop")
    (root / "pkg/up").symlink_to("..")
    (root / "alias.py").symlink_to("a.py")
    await following.start("repo")
    await until(lambda: len(following.sent) == 3)
    put(root, "pkg/new.py", "new\n")
    put(root, "deep/er/new.py", "deeper\n")
    await following.until_holds("pkg/new.py", "new\n")
    await following.until_holds("deep/er/new.py", "deeper\n")
    put(root, "deep/er/new.py", b"now\0binary")
    await following.until_holds("deep/er/new.py", None)
    await following.still()
    assert set(following.sent) == {
        ".gitignore",
        "a.py",
        "pkg/b.py",
        "pkg/new.py",
        "deep/er/new.py",
    }


async def test_what_becomes_ignored_is_forgotten(following, root):
    git(root, "init", "-q")
    await following.start("repo")
    await following.until_holds("pkg/b.py", "b\n")
    put(root, ".gitignore", "/pkg/\n")
    put(root, "pkg/b.py", "changed\n")
    await following.until_holds("pkg/b.py", None)
    assert following.holds("a.py", "old\n")


async def test_w05_ignored_folders_are_not_watched_however_full_they_are(following, root):
    git(root, "init", "-q")
    put(root, ".gitignore", "/out/\n")
    put(root, "out/a/b/c.py")
    put(root, "node_modules/x/y.js")
    await following.start("repo")
    await until(lambda: len(following.sent) == 3)
    for number in range(300):
        put(root, f"out/a/b/{number}.py")
        put(root, f"node_modules/x/{number}.js")
    await asyncio.sleep(0.6)
    assert following.watcher.n_batches == 0
    for number in range(300):
        put(root, f"pkg/node_modules/{number}/index.js")
        put(root, f"out/new/{number}.py")
    await following.still()
    assert len(following.sent) == 3


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
async def test_w05_no_folder_that_tools_fill_is_watched(following, root, with_git):
    if with_git:
        git(root, "init", "-q")
        put(root, ".gitignore", "build/\ndist/\n")
    filled = ["node_modules", ".venv", "__pycache__", "build", "dist"]
    for folder in filled:
        put(root, f"{folder}/deep/x.py")
        put(root, f"pkg/{folder}/deep/x.py")
    await following.start("repo")
    await following.until_holds("pkg/b.py", "b\n")
    await following.still()
    put(root, "pkg/inner/c.py")
    await following.until_holds("pkg/inner/c.py", "text\n")
    for folder in filled:  # and none that is made while the watcher runs
        put(root, f"pkg/inner/{folder}/deep/x.py")
    await following.still()
    watched = {path[len(str(root)) + 1 :] for path in following.watcher._events.watched}
    assert watched == {"", "pkg", "pkg/inner"}
    assert not [path for path in following.sent if path.endswith("x.py")]


async def test_w02_a_checkout_of_two_thousand_files_is_one_batch(following, root):
    git(root, "init", "-q", "-b", "main")
    names = [f"src/{number // 100}/{number}.py" for number in range(2000)]
    for name in names:
        put(root, name, f"# {name}\nvalue = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "checkout", "-q", "-b", "other")
    for name in names:
        put(root, name, f"# {name}\nvalue = 2\n")
    git(root, "commit", "-q", "-a", "-m", "two")
    await following.start("repo")
    await until(lambda: len(following.sent) == 2002, seconds=60)
    await following.still()
    n_batches, longest_s = following.watcher.n_batches, 0.0
    checkout = asyncio.to_thread(git, root, "checkout", "-q", "main")
    working = asyncio.ensure_future(checkout)
    started = time.monotonic()
    while len(following.sent) < 4002:
        before = time.monotonic()
        assert before - started < 60
        await asyncio.sleep(0.005)
        longest_s = max(longest_s, time.monotonic() - before)
    await working
    await following.still()
    assert following.watcher.n_batches - n_batches == 1
    assert len(following.sent) == 4002
    assert all(following.holds(name, f"# {name}\nvalue = 1\n") for name in names)
    assert longest_s < 0.5, "the event loop stood still"


async def test_a_link_is_followed_to_what_it_leads_to(following, root):
    (root / "alias.py").symlink_to("pkg/b.py")
    await following.start("opened", "alias.py")
    put(root, "pkg/b.py", "through the link\n")
    await following.until_holds("alias.py", "through the link\n")
    (root / "alias.py").unlink()
    (root / "alias.py").symlink_to("a.py")
    await following.until_holds("alias.py", "old\n")


async def test_a_repository_that_is_a_link_is_watched_where_it_lies(root, tmp_path):
    (tmp_path / "link").symlink_to(root, target_is_directory=True)
    following = Following(tmp_path / "link", tmp_path)
    await following.start("repo")
    await following.until_holds("a.py", "old\n")
    put(root, "a.py", "new\n")
    await following.until_holds("a.py", "new\n")
    await following.stop()


def lines(seed, n_lines):
    return [
        f"{seed}_{number * 7919 % 997:03d} = {number * 104729 % 99991}\n"
        for number in range(n_lines)
    ]


async def test_a_draft_comes_from_the_new_text_while_a_reply_is_being_written(root, tmp_path):
    old, new = lines("old", 40), lines("new", 300)
    reply = "".join(new) + "".join(old[:20])
    following = Following(root, tmp_path, [reply], step_delay_s=0.01)
    put(root, "a.py", "".join(old))
    await following.start("opened", "a.py")
    command = Generate(
        request=1,
        sequence="coder",
        turn=1,
        role="coder",
        messages=(Message("user", "go"),),
        max_tokens=50_000,
    )
    seen_s = []

    def steps():
        return [event for event in following.events if isinstance(event, StepCommitted)]

    working = asyncio.ensure_future(following.client.generate(command))
    await until(lambda: len(steps()) > 20)
    n_before, saved_s = len(steps()), time.monotonic()
    put(root, "a.py", "".join(new))
    while not seen_s:
        fresh = [s for s in steps()[n_before:] if s.source == "workspace" and s.n_accepted > 8]
        if fresh:
            seen_s.append(time.monotonic() - saved_s)
        assert not working.done()
        await asyncio.sleep(0.005)
    finished = await working
    assert finished.text == reply
    assert fresh[0].document == "a.py (raw)"
    print(f"{seen_s[0]:.2f} s from the save to the first draft from the new text")
    assert seen_s[0] < 1.0
    # The end of the reply is the old text: nothing of it is drafted from the file any more.
    text, late = 0, []
    for step in steps():
        text += len(step.text)
        if text > len("".join(new)) + 20 and step.source == "workspace":
            late.append(step.n_accepted)
    assert max(late, default=0) <= 8
    await following.stop()
