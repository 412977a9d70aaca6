"""Writes the attributes of ONNX's and ONNX Runtime's operators: one a line, with its operator, version, type and default.

  python write.py > attributes.txt

The default domain and ai.onnx.ml are those of the installed onnx, com.microsoft that of the installed onnxruntime, with the operator that ONNX Runtime adds to the default domain.
"""

import json
import sys

import onnx
import onnxruntime
from onnx import defs, helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema


def default_of(attribute):
    """As JSON; "-" without one, "required" where there must be a value."""
    if attribute.required:
        return "required"
    value = attribute.default_value if hasattr(attribute, "default_value") else onnx.AttributeProto.FromString(attribute._default_value)
    if not value.name:
        return "-"
    value = helper.get_attribute_value(value)
    text = lambda one: one.decode() if isinstance(one, bytes) else one
    return json.dumps([text(one) for one in value] if isinstance(value, list) else text(value))


def lines():
    standard = [schema for schema in defs.get_all_schemas_with_history() if schema.domain in ("", "ai.onnx.ml")]
    known = {schema.name for schema in standard}
    added = [s for s in get_all_operator_schema() if s.domain == "com.microsoft" or (s.domain == "" and s.name not in known)]
    for schema in [*standard, *added]:
        for name, attribute in schema.attributes.items():
            yield " ".join([schema.domain or "-", schema.name, str(schema.since_version), name, attribute.type.name.lower(), default_of(attribute)])


def main():
    print(f"# onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}; written by write.py: domain, operator, version, attribute, type, default")
    print("\n".join(sorted(set(lines()))))


if __name__ == "__main__":
    sys.exit(main())
