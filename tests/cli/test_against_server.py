import json
import os
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
# Another program, of which only the interface is known here: 10 tokens a second, 12 with one type.
SERVER = """#!{python}
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
if "--help" in sys.argv:
    print("--spec-type none,draft-simple,ngram-mod,ngram-cache  kinds")
    sys.exit()
rate = 12.0 if "ngram-mod" in sys.argv and "--spec-ngram-mod-n-max" in sys.argv else 10.0
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
        assert asked["top_k"] == 1 and self.path == "/completion"
        n = asked["n_predict"]
        self.answer({{
            "tokens": list({said!r}.encode())[:n], "tokens_evaluated": len(asked["prompt"]),
            "timings": {{"predicted_n": n, "predicted_ms": 1e3 * (n - 1) / rate}},
        }})
HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


@pytest.fixture
def compare(tmp_path):
    (tmp_path / "double.py.txt").write_text(FILE)
    (tmp_path / "prompts.toml").write_text(PROMPTS)

    def run(server, model, *args):
        out = tmp_path / "out.json"
        done = subprocess.run(
            [
                *(sys.executable, "bench/against_server.py", str(server), "--model", str(model)),
                *("--prompts", str(tmp_path / "prompts.toml"), "--json", str(out), *args),
            ],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert out.exists(), done.stderr
        return done, json.loads(out.read_text())

    return run


def test_each_program_is_measured_against_itself_and_the_best_type_is_named(compare, tmp_path):
    script = tmp_path / "script.json"
    # Passes take time, and a draft none: drafting is far ahead.
    script.write_text(json.dumps({"replies": [FILE] * 6, "step_delay_s": 0.01}))
    server = tmp_path / "server"
    server.write_text(SERVER.format(python=sys.executable, said=FILE))
    server.chmod(0o755)
    done, report = compare(server, f"scripted:{script}")
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


@pytest.mark.model
def test_a_real_server_reads_the_same_prompt_tokens(compare, smollm2):
    server = Path(os.environ.get("AGSPEC_PEERS", "")) / "bin" / "llama-server-peer"
    if not server.is_file():
        pytest.skip("AGSPEC_PEERS names no environment with a llama.cpp server")
    _, report = compare(server, smollm2, "--types", "ngram-mod")
    assert [row["way"] for row in report["rows"]][2:] == ["none", "ngram-mod", "ngram-mod short"]
    assert all(row["tok_per_s"]["all"] > 0 for row in report["rows"])
