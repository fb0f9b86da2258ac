import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FILE = "def double(x):\n    return x + x\n\n\ndef triple(x):\n    return x + x + x\n"
PROMPTS = """
[[prompt]]
kind = "talk"
path = "double.py"
file = "double.py.txt"
change = "Rename x to y."
max_tokens = 40
then = ["Once more."]

[[prompt]]
kind = "prose"
change = "Explain."
max_tokens = 20
"""
# Another program, of which only the interface is known here: 10 tokens a second, and 14.4 with one
# type, whose process is a fifth faster anyway.
SERVER = """#!{python}
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
if "--help" in sys.argv:
    print("--spec-type none,draft-simple,ngram-mod,ngram-cache  kinds")
    sys.exit()
rate = 14.4 if "ngram-mod" in sys.argv and "--spec-ngram-mod-n-max" in sys.argv else 10.0
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def answer(self, found):
        data = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self): self.answer({{}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/completion"
        if "seed" in asked:  # the pace: this process is so much faster than the plain one
            n = asked["n_predict"]
            pace = 24.0 if "--spec-ngram-mod-n-max" in sys.argv else 20.0
            timings = {{"predicted_n": n, "predicted_ms": 1e3 * (n - 1) / pace}}
            return self.answer({{"tokens": [], "tokens_evaluated": 1, "timings": timings}})
        assert asked["top_k"] == 1
        asked_before = sys.argv[0] + ".asked"
        if os.path.exists(sys.argv[0] + ".hangs") and len(open(asked_before).readlines()) >= 4:
            time.sleep(100)
        n = asked["n_predict"]
        with open(asked_before, "a") as file:
            file.write(f"{{n}}\\n")
        said = list({said!r}.encode())
        n = min(n, len(said) + 1)
        self.answer({{
            "tokens": said[:n], "tokens_evaluated": len(asked["prompt"]),
            "timings": {{"predicted_n": n, "predicted_ms": 1e3 * (n - 1) / rate}},
        }})
HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "double.py.txt").write_text(FILE)
    (tmp_path / "prompts.toml").write_text(PROMPTS)

    def made(server, model, *args):
        return [
            *(sys.executable, "bench/against_server.py", str(server), "--model", str(model)),
            *("--prompts", str(tmp_path / "prompts.toml"), "--rounds", "1"),
            *("--json", str(tmp_path / "out.json"), *args),
        ]

    return made


@pytest.fixture
def compare(tmp_path, command):
    def run(*args):
        done = subprocess.run(
            command(*args), capture_output=True, text=True, timeout=100, check=False
        )
        out = tmp_path / "out.json"
        assert out.exists(), done.stderr
        return done, json.loads(out.read_text())

    return run


@pytest.fixture
def server(tmp_path):
    def written(said=FILE, types="none,draft-simple,ngram-mod,ngram-cache"):
        path = tmp_path / "server"
        text = SERVER.replace("none,draft-simple,ngram-mod,ngram-cache", types)
        path.write_text(text.format(python=sys.executable, said=said))
        path.chmod(0o755)
        return path

    return written


def scripted(folder, *replies, step_delay_s=0.0):
    script = folder / "script.json"
    script.write_text(json.dumps({"replies": replies, "step_delay_s": step_delay_s}))
    return f"scripted:{script}"


def test_each_program_is_measured_against_itself_and_the_best_type_is_named(
    compare, server, tmp_path
):
    # Passes take time, and a draft none: drafting is far ahead.
    done, report = compare(
        server(), scripted(tmp_path, *[FILE] * 12, step_delay_s=0.01), "--rounds", "2"
    )
    rows = {(row["program"], row["way"]): row for row in report["rows"]}
    assert set(rows) == {
        *(("ours", way) for way in ("none", "agspec-sam")),
        *(("server", way) for way in ("none", "ngram-mod", "ngram-mod short", "ngram-cache")),
    }
    assert rows["server", "none"]["tok_per_s"]["all"] == 10.0
    assert rows["server", "ngram-mod short"]["speedup"] == {"talk": 1.2, "prose": 1.2, "all": 1.2}
    assert rows["server", "ngram-cache"]["speedup"]["all"] == 1.0
    assert report["best"] == "ngram-mod short"
    ours = rows["ours", "agspec-sam"]["speedup"]
    assert ours["talk"] > 1.5
    assert report["ours_over_best"]["talk"] == pytest.approx(ours["talk"] / 1.2, abs=0.002)
    assert {row["same_ids"] for row in report["rows"]} == {"3/3"}
    assert report["ahead"] == (done.returncode == 0)
    assert "ours over ngram-mod short" in done.stdout
    assert "2 of 2 prompts: ours" in done.stderr
    assert (report["exact"], report["complete"], report["n_prompts"]) == (True, True, 2)


def test_a_kind_is_judged_by_the_prompts_that_every_way_answered_alike(compare, server, tmp_path):
    model = scripted(tmp_path, *[FILE] * 4, *["Another text."] * 2, step_delay_s=0.01)
    done, report = compare(server(), model, "--types", "ngram-mod")
    alike = report["ours_over_best_alike"]
    assert alike["prose"] is None
    # The same prompts: only the order of the roundings differs.
    assert alike["all"] == alike["talk"]
    assert alike["talk"] == pytest.approx(report["ours_over_best"]["talk"], abs=0.002)
    assert report["ours_over_best"]["prose"] < 1.0 < report["ours_over_best"]["talk"]
    assert (report["ahead"], done.returncode) == (False, 1)  # prose has no other prompts
    assert "prompts answered alike" in done.stdout


def test_a_server_says_as_many_tokens_as_we_do_and_short_replies_are_no_fault(
    compare, server, tmp_path
):
    # Ours ends after one token with its end; a reply of a single token has no rate of its own.
    model = scripted(tmp_path, *["d"] * 3, *[""] * 3)
    args = ("--types", "ngram-mod", "--short", "0", "--kinds", "talk,prose", "--exact", "off")
    done, report = compare(server(), model, *args)
    asked = (tmp_path / "server.asked").read_text().split()
    assert set(asked) == {"2"}
    assert [row["way"] for row in report["rows"]] == ["none", "agspec-sam", "none", "ngram-mod"]
    assert report["exact"] is False
    assert "our drafts inexact, 2 prompts; rates are total tokens over total time" in done.stdout


def test_a_longer_reply_of_a_server_is_another_one(compare, server, tmp_path):
    model = scripted(tmp_path, *["a"] * 6)
    _, report = compare(server(said="abc"), model, "--types", "ngram-mod")
    rows = {(row["program"], row["way"]): row["same_ids"] for row in report["rows"]}
    assert rows["ours", "agspec-sam"] == "3/3"
    assert rows["server", "none"] == "3/3"  # its second token may be the one that ends the reply
    _, report = compare(server(said="xbc"), model, "--types", "ngram-mod")
    assert report["rows"][2]["same_ids"] == "0/3"


def test_a_run_can_be_of_a_few_prompts_of_each_kind(compare, server, tmp_path):
    (tmp_path / "more.toml").write_text(PROMPTS + PROMPTS)
    model = scripted(tmp_path, *["a"] * 6)
    args = ("--prompts", tmp_path / "more.toml", "--per-kind", "1", "--types", "ngram-mod")
    _, report = compare(server(), model, *map(str, args))
    assert report["n_prompts"] == 2


def test_an_interrupted_run_reports_what_was_measured(command, server, tmp_path):
    path, out = server(), tmp_path / "out.json"
    # The first prompt has two turns, with two servers; the second prompt is never over.
    (tmp_path / "server.hangs").touch()
    (tmp_path / "server.asked").touch()
    args = command(path, scripted(tmp_path, *[FILE] * 6), "--types", "ngram-mod", "--short", "0")
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        for line in run.stderr:
            if "1 of 2 prompts" in line:
                break
        run.send_signal(signal.SIGTERM)
        shown, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    report = json.loads(out.read_text())
    assert (report["n_prompts"], report["complete"]) == (1, False)
    assert "the run is not complete" in shown


@pytest.mark.parametrize("types", ["none", "none,draft-simple"])
def test_a_server_without_n_gram_types_is_refused_before_anything_is_run(
    command, server, tmp_path, types
):
    refused(command(server(types=types), scripted(tmp_path, "x")), "its n-gram types: none")


def test_what_the_server_has_not_is_refused_before_anything_is_run(command, server, tmp_path):
    args = command(server(), scripted(tmp_path, "x"), "--types", "ngram-odd")
    refused(args, "no type ngram-odd; its n-gram types: ngram-mod, ngram-cache")
    refused(command(tmp_path / "no-server", scripted(tmp_path, "x")), "cannot be run")


def refused(args, why):
    done = subprocess.run(args, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.model
def test_a_real_server_reads_the_same_prompt_tokens(compare, smollm2):
    server = Path(os.environ.get("AGSPEC_PEERS", "")) / "bin" / "llama-server-peer"
    if not server.is_file():
        pytest.skip("AGSPEC_PEERS names no environment with a llama.cpp server")
    _, report = compare(server, smollm2, "--types", "ngram-mod")
    assert [row["way"] for row in report["rows"]][2:] == ["none", "ngram-mod", "ngram-mod short"]
    assert all(row["tok_per_s"]["all"] > 0 for row in report["rows"])
