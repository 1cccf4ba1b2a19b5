# SPDX-License-Identifier: Apache-2.0
"""Copies Python sources without comments and docstrings: what a model can still read is the code alone.

    python3 bare_source.py services bare
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def is_docstring(node: ast.stmt) -> bool:
    return (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str))


def bare(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and node.body and is_docstring(node.body[0]):
            del node.body[0]
            if not node.body and not isinstance(node, ast.Module):
                node.body.append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def copy_bare(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*.py")):
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(bare(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    copy_bare(Path(sys.argv[1]), Path(sys.argv[2]))
