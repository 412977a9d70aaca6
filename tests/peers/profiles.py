"""What `relayout profile` and `relayout diff` promise, measured on real models, one line per row.

  RELAYOUT_PYTHON=PYTHON cmake/dev bench profiles [ROW…] [--runs N] [--busy N]

Rows: itself (a model against itself), slower (one convolution computed twice), onednn (shares against ONEDNN_VERBOSE), conversions,
others (conversions by onnxsim and onnxslim), renamed, join, nodes (100,000). Without rows: all. Models are those of RELAYOUT_MODELS."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import onnx

RELAYOUT = "relayout"
MODELS = pathlib.Path(os.environ.get("RELAYOUT_MODELS", pathlib.Path.home() / ".cache/relayout/models"))
WITH_ONE_OF_FIVE_PERCENT = ["mobilenet_v2", "squeezenet1_1", "resnet18", "mnasnet1_0"]
SMALL = ["mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x0_5", "resnet18"]


def relayout(*arguments, codes=(0,), **settings):
    done = subprocess.run([RELAYOUT, *map(str, arguments)], capture_output=True, text=True, **settings)
    if done.returncode not in codes:
        raise RuntimeError(f"relayout {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr.strip()}")
    return done


def document(*arguments, codes=(0,)):
    return json.loads(relayout(*arguments, "--json", codes=codes).stdout)


def path_of(name):
    return MODELS / name / "model.onnx"


def all_models():
    return sorted(folder.name for folder in MODELS.iterdir() if (folder / "model.onnx").is_file())


def converted(name, folder):
    out = folder / f"{name}.cl.onnx"
    relayout("convert", path_of(name), "-o", out)
    return out


def compare(a, b, codes=(0, 1)):
    return document("profile", a, b, "--threads", 1, "--fail-on-slowdown", "3%", codes=codes)


def row_itself(runs, folder):
    held = failed = 0
    widths = []
    for run in range(runs):
        model = path_of(SMALL[run % len(SMALL)])
        report = compare(model, model)
        ratio = report["ratio"]
        held += ratio["low"] <= 1 <= ratio["high"]
        failed += report["exit_code"] != 0
        widths.append(ratio["high"] - ratio["low"])
    print(f"a model against itself: {held} of {runs} intervals hold 1, exit 1 in {failed}; median width {sorted(widths)[runs // 2]:.3f}", flush=True)


def computed_twice(name, out):
    """The convolution whose share of the profile is nearest to 5.7 %, computed by a second node too: a Max joins both."""
    profile = document("profile", path_of(name), "--threads", 1, "--mode", "as-written")
    rows = [row for row in profile["rows"] if row["op"] == "Conv"]
    row = min(rows, key=lambda one: abs(one["share"] - 0.057))
    model = onnx.load(path_of(name))
    place, node = next((i, one) for i, one in enumerate(model.graph.node) if one.name == row["node"])
    again = onnx.NodeProto.FromString(node.SerializeToString())
    node_output = node.output[0]
    node.output[0], again.output[0], again.name = node_output + "_first", node_output + "_again", node.name + "_again"
    model.graph.node.insert(place + 1, again)
    model.graph.node.insert(place + 2, onnx.helper.make_node("Max", [node.output[0], again.output[0]], [node_output], node.name + "_join"))
    onnx.save(model, out)
    return node.name, row["share"]


def row_slower(runs, folder):
    found = named = 0
    shares = []
    for name in WITH_ONE_OF_FIVE_PERCENT:
        copy = folder / f"{name}.twice.onnx"
        node, share = computed_twice(name, copy)
        shares.append(f"{name} {100 * share:.1f} %")
        for _ in range(runs // len(WITH_ONE_OF_FIVE_PERCENT)):
            report = compare(path_of(name), copy)
            found += report["ratio"]["low"] > 1
            worst = sorted(report["differences"], key=lambda line: -line["difference_us"])[:3]
            named += any(line["name"].startswith(node) for line in worst)
    print(f"one convolution computed twice ({', '.join(shares)}): found {found} of {runs}, named among the first three {named}", flush=True)


def row_onednn(runs, folder):
    """Times of primitives as oneDNN prints them, of the same runs, against the lines of the profile by operator."""
    for name in ["resnet50", "mobilenet_v2", "squeezenet1_1"]:
        done = relayout("profile", path_of(name), "--threads", 1, "--repeat", 50, "--json",
                        env=dict(os.environ, ONEDNN_VERBOSE="profile_exec"))
        lines = done.stdout.splitlines()
        report = json.loads("\n".join(line for line in lines if not line.startswith("onednn_verbose")))
        theirs, ours = collections.Counter(), collections.Counter()
        for parts in (line.split(",") for line in lines if line.startswith("onednn_verbose,v1,primitive,exec")):
            if parts[5] != "reorder":
                theirs[parts[6]] += float(parts[-1])
        for row in report["rows"]:
            if row["implementation"] in theirs:
                ours[row["implementation"]] += row["time_us"]
        shares = {one: (us / theirs.total(), ours[one] / ours.total()) for one, us in theirs.most_common(5)}
        worst = max(abs(a - b) for a, b in shares.values())
        shares_text = " · ".join(f"{one} {100 * a:.2f} {100 * b:.2f}" for one, (a, b) in shares.items())
        print(f"{name}: % of the primitives' time by oneDNN and by the profile: {shares_text}; largest difference {100 * worst:.2f} points", flush=True)


def changes(a, b, *more):
    """Numbers of changes by kind, those that there are."""
    counts = document("diff", a, b, *more)["comparisons"][0]["counts"]
    return {kind: number for kind, number in counts.items() if number and kind != "renamed"}


def row_conversions(runs, folder):
    clean = 0
    for name in all_models():
        counts = changes(path_of(name), converted(name, folder))
        clean += counts.keys() == {"explained"}
        if counts.keys() != {"explained"}:
            print(f"  {name}: {counts}")
    print(f"conversions: all explained in {clean} of {len(all_models())}", flush=True)


def by_onnxsim(model):
    import onnxsim

    return onnxsim.simplify(model)[0]


def by_onnxslim(model):
    import onnxslim

    return onnxslim.slim(model)


def row_others(runs, folder):
    for tool in [by_onnxsim, by_onnxslim]:
        total, clean = collections.Counter(), 0
        for name in all_models():
            out = folder / "other.onnx"
            onnx.save(tool(onnx.load(path_of(name))), out)
            counts = changes(path_of(name), out, "--ignore", "metadata")
            total.update(counts)
            clean += counts.keys() <= {"explained"}
        print(f"{tool.__name__}: {clean} of {len(all_models())} all explained; changes {dict(total)}", flush=True)


def renamed(model):
    names = {}

    def of(name):
        return names.setdefault(name, f"v{len(names)}") if name else name

    graph = model.graph
    for node in graph.node:
        node.name = f"n{len(names)}_{node.op_type}"
        node.input[:], node.output[:] = [of(one) for one in node.input], [of(one) for one in node.output]
    for group in (graph.initializer, graph.input, graph.output, graph.value_info):
        for one in group:
            one.name = of(one.name)
    return model


def row_renamed(runs, folder):
    empty = 0
    for name in all_models():
        out = folder / "renamed.onnx"
        onnx.save(renamed(onnx.load(path_of(name))), out)
        done = relayout("diff", path_of(name), out, "--exit-code", codes=(0, 1))
        empty += done.returncode == 0
    print(f"all names changed: empty for {empty} of {len(all_models())}", flush=True)


def row_join(runs, folder):
    for name in all_models():
        report = document("profile", path_of(name), converted(name, folder), "--threads", 1, "--mode", "as-written", codes=(0, 1))
        difference = report["b"]["total_us"] - report["a"]["total_us"]
        parts = sum(cause["difference_us"] for cause in report["causes"])
        print(f"  {name}: {report['sentence']} (difference {difference:.1f} µs, parts {parts:.1f}, off by {abs(difference - parts):.1g})", flush=True)


def pairs_of(count):
    from onnx import TensorProto, helper, numpy_helper
    import numpy

    nodes, constants, value = [], [], "x"
    for i in range(count):
        rng = numpy.random.default_rng(i)
        for kind, size in [("w", (4, 4, 1, 1)), ("s", 4), ("b", 4), ("m", 4), ("v", 4)]:
            constants.append(numpy_helper.from_array(rng.uniform(0.5, 1.5, size).astype(numpy.float32), f"{kind}{i}"))
        nodes.append(helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}"))
        nodes.append(helper.make_node("BatchNormalization", [f"c{i}", f"s{i}", f"b{i}", f"m{i}", f"v{i}"], [f"n{i}"], f"bn{i}"))
        value = f"n{i}"
    ports = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [1, 4, 8, 8]) for one in ("x", value)]
    graph = helper.make_graph(nodes, "pairs", ports[:1], ports[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def row_nodes(runs, folder):
    a, b = folder / "pairs.onnx", folder / "pairs.cl.onnx"
    onnx.save(pairs_of(50000), a)
    relayout("convert", a, "-o", b)
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen([RELAYOUT, "diff", str(a), str(b), "--quiet"], stdout=subprocess.DEVNULL)
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        # Not ru_maxrss, which counts this process from before exec too.
        found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.005)
    seconds = time.perf_counter() - start
    _, status, usage = os.wait4(process.pid, 0)
    print(f"100,000 nodes (50,000 foldable pairs) against their conversion: exit {os.waitstatus_to_exitcode(status)}, {seconds:.2f} s, "
          f"{usage.ru_utime + usage.ru_stime:.2f} s of processor time, {peak / 1024:.0f} MiB", flush=True)


def main():
    global RELAYOUT
    rows = {name[4:]: one for name, one in globals().items() if name.startswith("row_")}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=RELAYOUT, help="relayout")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(rows))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0, help="processes that compete meanwhile")
    chosen = parser.parse_args()
    RELAYOUT = chosen.program
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(chosen.busy)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in chosen.rows or rows:
                rows[name](chosen.runs, pathlib.Path(folder))
    finally:
        for one in busy:
            one.kill()


main()
