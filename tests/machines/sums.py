"""The table of what ran and what it found, for tests/README.md, and behind it the figures of each rule and each kind of fault."""

import json
import pathlib
import re
from collections import Counter, defaultdict

TOP = pathlib.Path(__file__).resolve().parents[2]


def read(files) -> list[dict]:
    return [json.loads(line) for file in files for line in file.open()]


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def rows(records) -> list[list]:
    """By oracle: tried, right, proved or the right node first, inconclusive, found."""
    found = Counter(one["oracle"] for record in records for one in record["found"])
    out = []
    by_way = defaultdict(list)
    for record in records:
        for one in record["conversions"]:
            by_way[one["how"] or "(no options)"].append(one)
    out.append(["the same as itself", len(records), len(records) - found["itself"], "", 0, found["itself"]])
    out.append(["stored outputs of ONNX Runtime", len(records), len(records) - found["data"], "", 0, found["data"]])
    for way, ones in sorted(by_way.items()):
        of = sum(
            1 for record in records for one in record["found"] if one["oracle"].startswith("convert") and one.get("how") == way.replace("(no options)", "")
        )
        judged = [one for one in ones if "verdict" in one]
        out.append(
            [
                f"`convert {way}`".replace(" (no options)", ""),
                len(judged),
                len(judged) - of,
                share(sum(bool(one.get("proved")) for one in judged), len(judged)) + " proved",
                0,
                of,
            ]
        )
    out.append(["layout and back", len(records), len(records) - found["undone"], "", 0, found["undone"]])
    for tool in sorted({one["tool"] for record in records for one in record["tools"]}):
        ones = [one for record in records for one in record["tools"] if one["tool"] == tool and "verdict" in one]
        of = sum(1 for record in records for one in record["found"] if one["oracle"] == "tool" and one["tool"] == tool)
        right = sum((one["verdict"] == "same") == (one["made"] in ("same", "near")) and one["verdict"] != "inconclusive" for one in ones)
        open_ones = sum(one["verdict"] == "inconclusive" for one in ones)
        out.append(
            [
                f"{tool} ({sum(one['made'].startswith('different') for one in ones)} faults of its own)",
                len(ones),
                right,
                share(sum(one["proved"] for one in ones), len(ones)) + " proved",
                open_ones,
                of,
            ]
        )
    pairs = [one for record in records for one in record["rewrites"] if "verdict" in one]
    verdicts = Counter(one["verdict"] for one in pairs)
    out.append(
        [
            "rewritten, the same",
            len(pairs),
            verdicts["same"],
            share(sum(bool(one["proved"]) for one in pairs), len(pairs)) + " proved",
            verdicts["inconclusive"],
            found["same"],
        ]
    )
    harmed = [one for record in records for one in record["faults"]]
    verdicts = Counter(one["verdict"] for one in harmed)
    located = [one["first"] for one in harmed if one.get("first") is not None and not one["rules"]]
    out.append(
        [
            "one fault",
            len(harmed),
            verdicts["different"],
            share(sum(located), len(located)) + " right node first",
            verdicts["inconclusive"],
            found["fault"] + found["fault, verify"],
        ]
    )
    return out


def by_name(records) -> list[str]:
    rules, kinds, reasons = defaultdict(Counter), defaultdict(Counter), Counter()
    for record in records:
        for one in record["rewrites"]:
            if "verdict" in one:
                for rule in set(one["rules"]):
                    rules[rule][("proved" if one["proved"] else one["verdict"])] += 1
                if one["verdict"] == "inconclusive":
                    reasons[one["reason"][:100]] += 1
        for one in record["faults"]:
            kinds[one["kind"]][one["verdict"]] += 1
    felt = defaultdict(Counter)
    for record in records:
        for one in record["faults"]:
            felt[one["felt"]][one["verdict"]] += 1
    out = []
    for title, table in (("faults that show on such inputs first", felt), ("rule (pairs that have it)", rules), ("fault", kinds)):
        out += ["", title]
        out += [f"  {name:34} " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) for name, counts in sorted(table.items())]
    passes = Counter(reason for record in records for one in record["conversions"] for reason in one.get("reasons", []))
    out += ["", "passes"] + [f"  {name:60} {count}" for name, count in sorted(passes.items())]
    codes = set(re.findall(r'\{\w+, "([a-z0-9-]+)", "', (TOP / "src/passes/findings.cpp").read_text()))
    out += ["  never: " + ", ".join(sorted(codes - {name.split(": ")[1] for name in passes}))]
    known = set(re.findall(r'^ *\{"(\w+)"', (TOP / "src/ops/op_table.cpp").read_text(), re.M))
    used = {kind for record in records for kind in record.get("operators", [])}
    out += ["", f"operators: {len(used & known)} of {len(known)}; never: " + ", ".join(sorted(known - used))]
    return out + ["", "inconclusive"] + [f"  {count:4} {reason}" for reason, count in reasons.most_common(30)]


def lines(files) -> list[str]:
    records = read(files)
    good = [record for record in records if "found" in record]
    hours = sum(record.get("seconds", 0) for record in records) / 3600
    out = [
        f"{len(good)} models of {sum(record['nodes'] for record in good)} nodes, {hours:.1f} hours of one process; {len(records) - len(good)} dismissed",
        "",
        "| oracle | tried | right | | inconclusive | found |",
        "|---|---|---|---|---|---|",
    ]
    out += ["| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |" for row in rows(good)]
    return out + by_name(good)
