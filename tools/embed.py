#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of the built-in descriptor set and of the proto texts that protoc may import at run time.

    embed.py OUT.c SET.binpb ROOT FILE...        each FILE is a name below ROOT, as in an import

The tables are declared in src/wire/schema_int.h.
"""
import pathlib
import sys

COLUMNS = 20


def array(data):
    """The bytes as C initialisers, a NUL behind them."""
    data += b"\0"
    return ",\n".join("    " + ", ".join(str(byte) for byte in data[at:at + COLUMNS]) for at in range(0, len(data), COLUMNS))


def main(out, descriptors, root, *names):
    data = pathlib.Path(descriptors).read_bytes()
    parts = [
        "// SPDX-License-Identifier: Apache-2.0\n/* Made by tools/embed.py. */\n#include \"wire/schema_int.h\"\n",
        f"const unsigned char mrg_embedded_set[] = {{\n{array(data)}}};\nconst size_t mrg_embedded_set_len = {len(data)};\n",
    ]
    rows = []
    for index, name in enumerate(names):
        text = (pathlib.Path(root) / name).read_bytes()
        parts.append(f"static const unsigned char text_{index}[] = {{\n{array(text)}}};\n")
        rows.append(f"    {{\"{name}\", text_{index}, {len(text)}}},\n")
    parts.append("const struct mrg_embedded_text mrg_embedded_texts[] = {\n" + "".join(rows) + "};\n")
    parts.append(f"const size_t mrg_embedded_text_count = {len(names)};\n")
    pathlib.Path(out).write_text("\n".join(parts))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
