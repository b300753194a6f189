/** Runs one program in its own thread: QuickJS in WebAssembly, with limited memory. Started by `program-thread.ts`. */
// oxlint-disable no-restricted-properties -- a thread has no ports: it measures itself, and reads only what its own code inside the interpreter wrote
import { parentPort, workerData } from "node:worker_threads";
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from "quickjs-emscripten";
import { seededRandom } from "../../core/base/seeded-random.ts";
import { BOOTSTRAP_SCRIPT } from "./bootstrap-script.ts";
import type { FromThread, ProgramCall, ProgramEnd, ProgramStart, ThrownInProgram, ToThread } from "./thread-messages.ts";

/** Missing in the types of Node. */
interface WasmMemory {
  readonly buffer: ArrayBuffer;
}
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => WasmMemory;
  readonly RuntimeError: new () => Error;
};

const PAGE_BYTES = 65_536;
/** WebAssembly.Memory grows by at most a fifth, so when an allocation fails, more than this share is in use. */
const FULL_SHARE = 0.75;
/** Initial WebAssembly.Memory of the interpreter, in pages. */
const FIRST_PAGES = 256;
/** Stack of the interpreter, so that deep recursion ends as an error of the program. */
const STACK_BYTES = 256 * 1024;
/** Number of jobs (steps after an `await`) between two checks of the limits. */
const JOBS_AT_ONCE = 1_000;
/** Maximum number of characters that leave the program in one value, and in all calls between two pauses. */
const MAX_TEXT = 4 * 1024 * 1024;
const PREFIX = '(async()=>{"use strict";';
const FILE = "program.js";

/** The format of `describe` in bootstrap-script.ts. */
type ThrownDetails = readonly [name: string, message: string, line: number, column: number, details: readonly string[], hint: string];

const OUT_OF_MEMORY: ThrownInProgram = { name: "InternalError", message: "out of memory", place: undefined, details: [], hint: "" };

type Limit = Extract<ProgramEnd, { readonly kind: "limit" }>["limit"];

/** The time that the interpreter sees: that of the program, in UTC. Must be set before the interpreter is loaded. */
let wallTime = 0;

function freezeTime(): void {
  Date.now = () => wallTime;
  const local = { getTimezoneOffset: () => 0 } as Record<string, unknown>;
  for (const part of ["Date", "Day", "FullYear", "Hours", "Milliseconds", "Minutes", "Month", "Seconds"])
    local[`get${part}`] = Reflect.get(Date.prototype, `getUTC${part}`);
  Object.assign(Date.prototype, local);
}

class ProgramRun {
  readonly #start: ProgramStart;
  readonly #post: (message: FromThread) => void;
  readonly #runtime: QuickJSRuntime;
  readonly #memory: WasmMemory;
  readonly #vm: QuickJSContext;
  /** The functions that `BOOTSTRAP_SCRIPT` returned. */
  readonly #bootstrap: QuickJSHandle;
  #main: QuickJSHandle | undefined;
  #isStarted = false;
  #calls: ProgramCall[] = [];
  #callCount = 0;
  #textLeft = MAX_TEXT;
  #log = "";
  #logLeft: number;
  #usedMs = 0;
  #endsAt = Infinity;
  #limit: Limit | undefined;

  constructor(start: ProgramStart, runtime: QuickJSRuntime, memory: WasmMemory, post: (message: FromThread) => void) {
    this.#start = start;
    this.#memory = memory;
    this.#post = post;
    this.#logLeft = start.maxLogChars;
    this.#runtime = runtime;
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => this.#isStopped());
    const vm = (this.#vm = runtime.newContext());
    const random = seededRandom(start.seed);
    const math = vm.getProp(vm.global, "Math");
    vm.setProp(
      math,
      "random",
      vm.newFunction("random", () => vm.newNumber(random.next())),
    );
    const make = vm.unwrapResult(vm.evalCode(BOOTSTRAP_SCRIPT, "haft.js"));
    const names = vm.newArray();
    start.toolNames.forEach((name, index) => vm.setProp(names, index, vm.newString(name)));
    this.#bootstrap = vm.unwrapResult(
      vm.callFunction(make, vm.undefined, [
        vm.newFunction("call", (name, input) => vm.newNumber(this.#recordCall(name, input))),
        vm.newFunction("print", (text) => this.#print(text)),
        names,
        vm.newString(start.input),
      ]),
    );
  }

  /** Begins the program, or continues it. */
  resume(ended: ToThread): void {
    const end = this.#timed(() => (this.#isStarted ? this.#settle(ended) : this.#startProgram()));
    this.#postState(end);
  }

  #startProgram(): ProgramEnd | undefined {
    this.#isStarted = true;

    const main = this.#vm.evalCode(`${PREFIX}${this.#start.code}\n})()`, FILE);
    if (main.error === undefined) {
      this.#main = main.value;
      return this.#runJobs();
    }
    const thrown = this.#describe(main.error);
    return { kind: thrown.name === "SyntaxError" ? "invalid" : "threw", ...thrown };
  }

  /** Settles the calls one by one. All jobs that follow from one run before the next, so that the same results always lead to the same calls. */
  #settle(ended: ToThread): ProgramEnd | undefined {
    const vm = this.#vm;
    for (const { number, succeeded, text, wallTime: now } of ended) {
      wallTime = now;
      const parts = [vm.newNumber(number), succeeded ? vm.true : vm.false, vm.newString(text)];
      const settled = vm.callFunction(vm.getProp(this.#bootstrap, "settle"), vm.undefined, parts);
      if (settled.error !== undefined) return { kind: "threw", ...this.#describe(settled.error) };
      for (const part of parts) part.dispose();
      const end = this.#runJobs();
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** Runs `work` and adds its duration to the used time. */
  #timed(work: () => ProgramEnd | undefined): ProgramEnd | undefined {
    const from = performance.now();
    this.#endsAt = from + this.#start.maxRunMs - this.#usedMs;
    this.#textLeft = MAX_TEXT;
    try {
      const end = work();
      return end?.kind === "threw" ? toLimitEnd(end, this.#isMemoryFull()) : end;
    } catch (thrown: unknown) {
      return toFailureEnd(thrown);
    } finally {
      this.#usedMs += performance.now() - from;
    }
  }

  #isMemoryFull(): boolean {
    return this.#memory.buffer.byteLength > FULL_SHARE * this.#start.maxMemoryMb * 1024 * 1024;
  }

  #postState(end: ProgramEnd | undefined): void {
    if (this.#limit !== undefined) return;
    this.#post({ calls: this.#calls, log: this.#log, end, usedMs: this.#usedMs });
    this.#calls = [];
    this.#log = "";
  }

  /** Posts the end at once: a program can delay its own end, as with a promise whose executor is interrupted. The host ends the thread. */
  #stop(limit: Limit): void {
    if (this.#limit !== undefined) return;
    this.#postState({ kind: "limit", limit });
    this.#limit = limit;
  }

  #isStopped(): boolean {
    if (performance.now() > this.#endsAt) this.#stop("time");
    return this.#limit !== undefined;
  }

  #runJobs(): ProgramEnd | undefined {
    while (this.#runtime.hasPendingJob()) {
      if (this.#isStopped()) return undefined;
      const ran = this.#runtime.executePendingJobs(JOBS_AT_ONCE);
      if (ran.error !== undefined) return { kind: "limit", limit: "memory" }; // exceptions of the program reject a promise instead
      ran.dispose();
    }
    return this.#readMainEnd();
  }

  #readMainEnd(): ProgramEnd | undefined {
    const vm = this.#vm;
    if (this.#main === undefined) return undefined;
    const state = vm.getPromiseState(this.#main);
    if (state.type === "pending") return undefined;
    if (state.type === "rejected") return { kind: "threw", ...this.#describe(state.error) };
    const text = vm.callFunction(vm.getProp(this.#bootstrap, "answer"), vm.undefined, state.value);
    if (text.error !== undefined) return { kind: "threw", ...this.#describe(text.error) };
    if (lengthOf(vm, text.value) > MAX_TEXT) return { kind: "limit", limit: "text" };
    return { kind: "returned", text: vm.getString(text.value), returnedNothing: vm.typeof(state.value) === "undefined" };
  }

  #describe(thrown: QuickJSHandle): ThrownInProgram {
    const vm = this.#vm;
    const described = vm.callFunction(vm.getProp(this.#bootstrap, "describe"), vm.undefined, thrown);
    if (described.error !== undefined) return OUT_OF_MEMORY;
    const [name, message, line, column, details, hint] = JSON.parse(vm.getString(described.value)) as ThrownDetails;
    const place = line === 0 ? undefined : { line, column: line === 1 ? Math.max(1, column - PREFIX.length) : column };
    return { name, message, place, details, hint };
  }

  #recordCall(name: QuickJSHandle, input: QuickJSHandle): number {
    const vm = this.#vm;
    this.#textLeft -= lengthOf(vm, name) + lengthOf(vm, input);
    if (this.#textLeft < 0) this.#stop("text");
    if (this.#callCount >= this.#start.maxCalls) this.#stop("calls");
    if (this.#limit !== undefined) return -1; // the interpreter stops the program at the next check of its limits
    this.#calls.push({ number: this.#callCount, name: vm.getString(name), input: vm.getString(input), madeAt: wallTime });
    return this.#callCount++;
  }

  /** @param text JSON: a plain text would end at its first NUL */
  #print(text: QuickJSHandle): void {
    if (this.#logLeft < 0) return;
    // a text that is far too long is not copied
    const line = lengthOf(this.#vm, text) > MAX_TEXT ? "[a text that is too long]\n" : (JSON.parse(this.#vm.getString(text)) as string);
    const kept = line.slice(0, this.#logLeft);
    this.#log += kept.length < line.length ? kept.replace(/[\uD800-\uDBFF]$/, "") : kept;
    this.#logLeft -= line.length;
    if (this.#logLeft < 0) this.#log += "\n[the rest of the program's output was left out]\n";
  }
}

function lengthOf(vm: QuickJSContext, text: QuickJSHandle): number {
  return vm.getProp(text, "length").consume((length) => vm.getNumber(length));
}

/** Returns the limit behind an error of the interpreter itself. With no memory left even for an error, it throws `null`. */
function toLimitEnd(thrown: Extract<ProgramEnd, { readonly kind: "threw" | "invalid" }>, isMemoryFull: boolean): ProgramEnd {
  const { name, message } = thrown;
  const isInternal = name === "InternalError";
  if (isInternal && message.includes("stack")) return { kind: "limit", limit: "stack" };
  if (isInternal && (message.includes("memory") || message.includes("too long"))) return { kind: "limit", limit: "memory" };
  if (name === "RangeError" && message === "BigInt is too large to allocate") return { kind: "limit", limit: "memory" };
  return isMemoryFull && name === "" && message === "null" ? { kind: "limit", limit: "memory" } : thrown;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Returns the end for an error of WebAssembly itself, whose stack or memory is exhausted. */
function toFailureEnd(thrown: unknown): ProgramEnd {
  const message = messageOf(thrown);
  if (thrown instanceof RangeError || /stack/u.test(message)) return { kind: "limit", limit: "stack" };
  if (thrown instanceof WebAssembly.RuntimeError || /memory|QuickJSUseAfterFree/u.test(message)) return { kind: "limit", limit: "memory" };
  return { kind: "broken", message };
}

async function prepare(start: ProgramStart, post: (message: FromThread) => void): Promise<ProgramRun | ProgramEnd> {
  let quickjs: typeof import("quickjs-emscripten");
  try {
    quickjs = await import("quickjs-emscripten");
  } catch (thrown: unknown) {
    return { kind: "missing", message: messageOf(thrown) };
  }
  try {
    const maximum = Math.max(FIRST_PAGES, Math.floor((start.maxMemoryMb * 1024 * 1024) / PAGE_BYTES));
    const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum });
    const variant = quickjs.newVariant(quickjs.RELEASE_SYNC, { wasmMemory });
    return new ProgramRun(start, (await quickjs.newQuickJSWASMModuleFromVariant(variant)).newRuntime(), wasmMemory, post);
  } catch (thrown: unknown) {
    return { kind: "broken", message: messageOf(thrown) };
  }
}

async function main(): Promise<void> {
  const start = workerData as ProgramStart; // set by program-thread.ts
  wallTime = start.wallTime;
  freezeTime();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const post = (message: FromThread): void => parentPort?.postMessage(message);
  const run = await prepare(start, post);
  if (run instanceof ProgramRun) parentPort?.on("message", (ended: ToThread) => run.resume(ended));
  post({ calls: [], log: "", end: run instanceof ProgramRun ? undefined : run, usedMs: 0 });
}

await main();
