// Runs the module in V8 with the request as its argument: node node.mjs MODULE.wasm REQUEST
import { readFile } from "node:fs/promises";
import process from "node:process";
import { WASI } from "node:wasi";

const [file, request] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: ["kernels", request], returnOnExit: true });
const module = await WebAssembly.compile(await readFile(file));
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
