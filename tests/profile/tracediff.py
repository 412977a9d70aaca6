"""TraceDiff of HolisticTraceAnalysis (hta 0.5.0, traceinsight 0.6.1) on two traces, as JSON; "no hta" where there is none.

Usage: tracediff.py CONTROL_FOLDER TEST_FOLDER, each with one trace in it.
"""
import json
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
try:
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff
except ImportError:
    print("no hta")
    sys.exit(2)

control, test = LabeledTrace("control", trace_dir=sys.argv[1]), LabeledTrace("test", trace_dir=sys.argv[2])
which = {"control_iteration": control.iterations(), "test_iteration": test.iterations(), "device_type": DeviceType.CPU}
table = TraceDiff.compare_traces(control, test, **which)
rows = {
    name: [int(row.control_counts), int(row.test_counts), float(row.control_total_duration), float(row.test_total_duration)]
    for name, row in table.iterrows()
    if not name.startswith("ProfilerStep#")
}
classes = {
    kind: sorted(name for name in names if not name.startswith("ProfilerStep#"))
    for kind, names in TraceDiff.ops_diff(control, test, **which).items()
}
print(json.dumps({"rows": rows, "ops_diff": classes}))
