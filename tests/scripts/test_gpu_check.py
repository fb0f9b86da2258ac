import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import gpu_machine
import gpu_pack
import pytest
from gpu_bench import Tally, rotated, rows_of
from gpu_pack import PackError, check_size, is_kept, trim
from gpu_recordings import MOST_PROMPT, calls_of
from gpu_stages import StageFailed, Stages, run_command

from agspec_tui.events import GenerationFinished
from agspec_tui.replay.traces import TraceCall, TraceMessage
from tests.house.sources import ROOT

CUDA = "vendor/llama.cpp/ggml/src/ggml-cuda"


# ── pack ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("CMakeLists.txt", True),
        ("llama_cpp/llama_cpp.py", True),
        ("vendor/llama.cpp/CMakeLists.txt", True),
        ("vendor/llama.cpp/src/models/qwen2.cpp", True),
        (f"{CUDA}/mmq.cu", True),
        (f"{CUDA}/template-instances/mmq-instance-q4_k.cu", True),
        ("vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp", True),
        ("vendor/llama.cpp/ggml/src/ggml-quants.c", True),
        ("vendor/llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", False),
        ("vendor/llama.cpp/models/ggml-vocab-qwen2.gguf", False),
        ("vendor/llama.cpp/docs/ops/CUDA.csv", False),
        (".git/modules/vendor/llama.cpp/index", False),
        ("examples/server/server.py", False),
    ],
)
def test_what_a_build_reads_is_kept(name, kept):
    assert is_kept(name) is kept


def source_archive(tmp_path: Path, build_file: bytes) -> Path:
    path = tmp_path / "llama_cpp_python-0.0.tar.gz"
    files = {"CMakeLists.txt": build_file, "docs/index.md": b"x", "llama_cpp/__init__.py": b"y"}
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            gpu_pack._add(archive, f"llama_cpp_python-0.0/{name}", data, 0o644)
    return path


def test_the_trimmed_source_builds_no_library_that_is_not_installed(tmp_path):
    build_file = b'set(LLAMA_BUILD_COMMON ON CACHE BOOL "" FORCE)\n'
    trim(source_archive(tmp_path, build_file), tmp_path / "out.tar.gz")
    with tarfile.open(tmp_path / "out.tar.gz") as archive:
        names = archive.getnames()
        file = archive.extractfile("llama-cpp-python/CMakeLists.txt")
        assert file is not None
        assert b"LLAMA_BUILD_COMMON OFF" in file.read()
    assert names == ["llama-cpp-python/CMakeLists.txt", "llama-cpp-python/llama_cpp/__init__.py"]


def test_another_source_than_expected_is_refused(tmp_path):
    with pytest.raises(PackError, match="LLAMA_BUILD_COMMON"):
        trim(source_archive(tmp_path, b"project(x)\n"), tmp_path / "out.tar.gz")


def test_a_folder_too_large_to_carry_is_refused_with_its_sizes(tmp_path, capsys):
    (tmp_path / "small").write_bytes(bytes(10))
    (tmp_path / "large").write_bytes(bytes(90))
    assert check_size(tmp_path, most=100) == 100
    with pytest.raises(PackError, match="100 bytes, 99 are allowed"):
        check_size(tmp_path, most=99)
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in listed[:2]] == ["large", "small"]


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "precious").touch()
    result = run_script("pack", str(tmp_path), PYTHON=sys.executable)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "holds other files" in result.stderr
    assert (tmp_path / "precious").is_file()


def test_nothing_is_carried_that_no_stage_imports():
    names = [name.partition("==")[0] for name in gpu_pack.wheel_requirements()]
    assert not [name for name in names if name.startswith(("textual", "llama"))]
    assert {"pip", "jinja2"} <= set(names)
    assert [name for name in names if name.startswith("numpy")]


# ── recorded sessions ────────────────────────────────────────────────────────────────────────────


def call(prompt: str, output: str, role: str = "user", **more: object) -> TraceCall:
    return TraceCall(prompt=(TraceMessage(role, prompt),), output=output, **more)


def test_a_prompt_holds_what_was_said_before_it():
    reply = "x" * 400
    found = calls_of([call("one", reply), call("two", reply, "tool")])
    assert [one["reply"] for one in found] == [reply, reply]
    assert found[1]["messages"] == [("user", "one"), ("assistant", reply), ("user", "two")]


def test_replies_that_are_too_short_too_long_or_of_others_are_left_out():
    reply = "x" * 400
    calls = [
        call("a", "short"),
        call("b", "x" * 100_000, ctx="new"),
        call("c", reply, agent_id="other"),
        call("d", reply, ctx="new"),
    ]
    found = calls_of(calls)
    assert [one["messages"] for one in found] == [[("user", "d")]]
    assert calls_of([call("x" * (MOST_PROMPT + 1), reply)]) == []


# ── stages ───────────────────────────────────────────────────────────────────────────────────────


def raising(error: Exception):
    def work(_: float) -> None:
        raise error

    return work


def statuses(out: Path) -> dict[str, str]:
    return {one["name"]: one["status"] for one in json.loads(out.read_text())["stages"]}


def test_the_document_names_what_failed_and_what_was_skipped_over_it(tmp_path):
    out = tmp_path / "out.json"
    seen: list[dict[str, object]] = []
    stages = Stages(out, {"schema": 1}, 100)
    assert json.loads(out.read_text())["ok"] is False
    stages.run("one", 10, lambda _: seen.append(json.loads(out.read_text())["stages"][0]))
    assert [one["status"] for one in seen] == ["running"]
    assert json.loads(out.read_text())["ok"] is True
    stages.run("two", 10, raising(StageFailed("it broke", ["last line"])), ["one"])
    stages.run("three", 10, lambda _: None, ["two"])
    stages.run("four", 10, raising(ValueError("unforeseen")), ["one"])
    document = json.loads(out.read_text())
    assert statuses(out) == {"one": "done", "two": "failed", "three": "skipped", "four": "failed"}
    assert document["stages"][1]["reason"] == "it broke"
    assert document["stages"][1]["output_tail"] == ["last line"]
    assert document["stages"][2]["reason"] == "two is not done"
    assert document["stages"][3]["reason"] == "ValueError: unforeseen"
    assert document["ok"] is False
    with pytest.raises(AssertionError):
        stages.run("five", 10, raising(AssertionError("a bug")))
    assert statuses(out)["five"] == "failed"


def test_a_check_that_is_stopped_ends_its_command_and_says_where_it_was(tmp_path):
    child, out = tmp_path / "pid", tmp_path / "out.json"
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(program), str(child), str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
    )
    deadline = time.monotonic() + 20
    while not (child.is_file() and child.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.terminate()
    assert process.wait(timeout=20) == 1
    assert statuses(out) == {"one": "failed"}
    while is_running(int(child.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


PROGRAM = """
import signal, sys
from pathlib import Path
from gpu_stages import Stages, run_command
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
child, out = sys.argv[1:]
command = ["sh", "-c", f"echo $$ > {child}; sleep 60"]
Stages(Path(out), {}, 100).run("one", 60, lambda s: run_command(command, s, Path(out + ".log")))
"""


def test_stages_share_the_time_and_the_last_ones_may_get_none(tmp_path):
    now = [0.0]
    given: list[float] = []

    def work(limit_s: float) -> None:
        given.append(limit_s)
        now[0] += 40

    stages = Stages(tmp_path / "out.json", {}, 100, clock=lambda: now[0])
    for name in ("one", "two", "three", "four"):
        stages.run(name, 50, work)
    assert given == [50, 50, 20]
    assert statuses(tmp_path / "out.json")["four"] == "skipped"
    assert json.loads((tmp_path / "out.json").read_text())["stages"][3]["reason"] == (
        "no time is left"
    )


def test_a_machine_without_a_gpu_gets_more_time_for_a_stage(tmp_path):
    given: list[float] = []
    stages = Stages(tmp_path / "out.json", {}, 1000, patience=5)
    stages.run("one", 50, lambda limit_s: given.append(limit_s))
    assert given == [250]


def test_a_command_gives_its_output_or_the_end_of_it(tmp_path):
    assert run_command(["sh", "-c", "echo said"], 10, tmp_path / "log") == "said\n"
    with pytest.raises(StageFailed, match="sh ended with code 3") as failed:
        run_command(["sh", "-c", "seq 100; exit 3"], 10, tmp_path / "log")
    assert failed.value.tail[-1] == "100"
    assert len(failed.value.tail) == 30
    with pytest.raises(StageFailed, match="no/such/command"):
        run_command(["no/such/command"], 10, tmp_path / "log")


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path):
    child = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {child}; wait"
    began = time.monotonic()
    with pytest.raises(StageFailed, match="not done after"):
        run_command(["sh", "-c", script], 0.5, tmp_path / "log")
    assert time.monotonic() - began < 10
    deadline = time.monotonic() + 10
    while is_running(int(child.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


# ── machine ──────────────────────────────────────────────────────────────────────────────────────


def test_gpus_are_read_from_the_drivers_table():
    fields = ("name", "driver_version", "compute_cap", "memory.total")
    found = gpu_machine.parse_gpus("NVIDIA H200, 580.1, 9.0, 143771 MiB\nnoise\n", fields)
    assert found == [dict(zip(fields, ("NVIDIA H200", "580.1", "9.0", "143771 MiB"), strict=True))]
    assert gpu_machine.parse_gpus("", fields) == []


@pytest.mark.parametrize(("capability", "named"), [("9.0", "90-real"), ("12.0", "120-real")])
def test_code_is_made_for_the_gpu_that_is_there(capability, named):
    assert gpu_machine.architecture(capability) == named


def test_an_unknown_capability_is_refused():
    with pytest.raises(gpu_machine.NoCuda, match="N/A"):
        gpu_machine.architecture("[N/A]")


def a_toolkit(root: Path, *names: str) -> Path:
    for name in ("bin/nvcc", "lib64/libcudart.so", *names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_a_whole_toolkit_needs_nothing_else(tmp_path):
    whole = ("include/cublas_v2.h", "lib64/libcublas.so", "lib64/stubs/libcuda.so")
    found = gpu_machine.cuda_flags(a_toolkit(tmp_path, *whole), "90-real", tmp_path / "links")
    assert "-DGGML_CUDA=ON" in found["flags"]
    assert "-DCMAKE_CUDA_ARCHITECTURES=90-real" in found["flags"]
    assert found["notes"] == []
    assert not [flag for flag in found["flags"] if "cublas" in flag or "VMM" in flag]


def test_missing_cublas_is_taken_from_a_python_package(tmp_path, monkeypatch):
    packages = tmp_path / "site-packages"
    monkeypatch.setattr(gpu_machine, "python_packages", lambda: [packages])
    root = a_toolkit(tmp_path / "cuda")
    with pytest.raises(gpu_machine.NoCuda, match="cuBLAS"):
        gpu_machine.cuda_flags(root, "90-real", tmp_path / "links")
    inside = packages / "nvidia/cu13"
    names = ("include/cublas_v2.h", "lib/libcublas.so.13", "lib/libcublasLt.so.13")
    a_toolkit(inside, *names)
    found = gpu_machine.cuda_flags(root, "90-real", tmp_path / "links")
    link = tmp_path / "links" / "libcublas.so"
    assert link.resolve() == (inside / "lib/libcublas.so.13").resolve()
    assert f"-DCUDA_cublas_LIBRARY={link}" in found["flags"]
    assert "-DGGML_CUDA_NO_VMM=ON" in found["flags"]
    assert found["include"] == [str(inside / "include")]
    assert str(inside / "lib") in found["libraries"]
    assert len(found["notes"]) == 2


# ── figures ──────────────────────────────────────────────────────────────────────────────────────


def finished(**more: int) -> GenerationFinished:
    fields = {"n_tokens": 0, "n_steps": 0, "n_drafted": 0, "n_accepted": 0, **more}
    return GenerationFinished(
        turn=1,
        role="coder",
        request=1,
        stop_reason="length",
        text="",
        ids=(),
        n_prompt=1,
        n_reused=0,
        broken_by="",
        prefill_s=0.0,
        decode_s=0.0,
        alpha=1.0,
        **fields,
    )


def test_rows_compare_all_tokens_over_all_time():
    plain = Tally(10.0, [finished(n_tokens=60, n_steps=60), finished(n_tokens=40, n_steps=40)])
    drafted = Tally(4.0, [finished(n_tokens=100, n_steps=25, n_drafted=100, n_accepted=75)])
    rows = rows_of(4, {"none": plain, "agspec-sam": drafted})
    assert [row["tok_per_s"] for row in rows] == [10.0, 25.0]
    assert [row["speedup"] for row in rows] == [1.0, 2.5]
    assert (rows[1]["accept_length"], rows[1]["rejected_per_step"]) == (4.0, 1.0)
    assert (rows[0]["batch"], rows[0]["n_replies"]) == (4, 2)


def test_each_method_is_first_in_turn():
    assert [rotated(["a", "b", "c"], n)[0] for n in range(4)] == ["a", "b", "c", "a"]


# ── the script ───────────────────────────────────────────────────────────────────────────────────


def run_script(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "scripts/gpu_check.sh", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("arguments", [(), ("measure",), ("run", "no/such/folder", "out.json")])
def test_a_wrong_command_line_is_refused_in_one_line(arguments):
    result = run_script(*arguments, PYTHON=sys.executable)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("gpu_check.sh: ")


def test_a_machine_that_cannot_build_gets_a_document_that_says_why(tmp_path):
    packed = tmp_path / "packed"
    packed.mkdir()
    (packed / "manifest.json").write_text(json.dumps({"schema": 1, "python": "3.12"}))
    out = tmp_path / "out.json"
    result = run_script("run", str(packed), str(out), "--shape", "7b", PYTHON=sys.executable)
    document = json.loads(out.read_text())
    assert (result.returncode, document["ok"]) == (1, False)
    assert document["machine"]["n_cores"] >= 1
    assert document["stages"][0]["status"] == "failed"
    assert "llama-cpp-python.tar.gz" in document["stages"][0]["reason"]
    assert {one["status"] for one in document["stages"][1:]} == {"skipped"}
    assert [one["shape"] for one in document["shapes"]] == ["7b"]
