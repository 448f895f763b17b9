"""Runs a wasm32-wasip1 program on Wasmer (PyPI wasmer-sdk): python3 wasmer.py PROGRAM.wasm [ARGS]

It sees the variables of the tests and no file. Its exit status becomes this one's.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from wasmer_sdk import Wasmer


async def main(program: str, args: list[str]) -> int:
    env = {name: value for name, value in os.environ.items() if name.startswith(("SANDQUIC_", "RUST_"))}
    # A cache of its own, removed afterwards: by default there would be one in the working folder.
    with tempfile.TemporaryDirectory() as cache:
        async with Wasmer(cache_root=cache) as wasmer:
            package = await wasmer.packages.load(Path(program).read_bytes())
            async with await wasmer.sandboxes.create(packages=[package], env=env) as sandbox:
                output = await sandbox.command(package, args).run(check=False)
    sys.stdout.write(output.stdout.text(errors="replace"))
    sys.stderr.write(output.stderr.text(errors="replace"))
    return 0 if output.ok else output.exit_code or 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
