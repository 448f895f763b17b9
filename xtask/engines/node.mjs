// Runs a wasm32-wasip1 program on V8: node --no-warnings node.mjs PROGRAM.wasm [ARGS]
// Node 18.17 or newer, as Debian 12 has it. It sees the environment and no file. Its exit status becomes this one's.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { WASI } from "node:wasi";

const [program, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...args], env: process.env, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
