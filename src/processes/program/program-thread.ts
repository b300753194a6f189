/** The thread that runs a program, from the side of the host. */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { FromThread, ProgramEnd, ProgramStart, ToThread } from "./thread-messages.ts";

/** Memory for the JavaScript objects of the thread itself, such as its messages; the program's memory is separate. */
const THREAD_MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 } as const;
/** How long a program may exceed its time, in milliseconds, in a part of the interpreter that does not check the limit. */
const GRACE_MS = 500;
/** Longest time for the thread to start, in milliseconds. */
const START_MS = 30_000;

/** Returns the file of the thread: TypeScript in the source, JavaScript in the package; undefined in a bundle. */
function findWorkerFile(here: unknown = import.meta.url): URL | undefined {
  if (typeof here !== "string" || !here.startsWith("file:")) return undefined;
  const file = new URL(here.endsWith(".ts") ? "./program-worker.ts" : "../processes/program/program-worker.js", here);
  return existsSync(file) ? file : undefined;
}

/** Starts at once. The first `next` resolves when the thread is ready, the first `resume` begins the program. Call `next` once before each `resume`. */
export class ProgramThread {
  /** A field, since Turbopack would match `new Worker(file)` to any file in this folder, and take this module for one that imports them all. */
  readonly #file: URL;
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #maxRunMs: number;
  #usedMs = 0;
  #isStarted = false;
  #stopTimer: (() => void) | undefined;
  #resolveNext: ((message: FromThread) => void) | undefined;
  #pendingMessage: FromThread | undefined;

  /** @throws ToolError `unavailable` in a bundle */
  constructor(start: ProgramStart, clock: Clock) {
    const file = findWorkerFile();
    if (file === undefined)
      throw new ToolError("unavailable", "No program can be run: the file of its thread is missing, as happens in a bundled program.", {
        operatorHint: "Mark the package haft as external in the bundler's settings.",
      });
    this.#file = file;
    this.#clock = clock;
    this.#maxRunMs = start.maxRunMs;
    this.#worker = new Worker(this.#file, {
      workerData: start,
      resourceLimits: THREAD_MEMORY,
      execArgv: [],
      argv: [],
      env: {},
      // piped, so that output of the interpreter is not printed by this process
      stdout: true,
      stderr: true,
      name: "haft-program",
    });
    this.#worker.on("message", (message: FromThread) => {
      this.#usedMs = message.usedMs;
      this.#deliver(message);
    });
    this.#worker.on("error", (error) => this.#deliver(endMessage(toProgramEnd(error))));
    this.#worker.on("exit", (code) => this.#deliver(endMessage({ kind: "broken", message: `its thread ended with exit code ${code}` })));
    this.#startTimer();
  }

  /** Resolves when the program waits for its calls, or has ended. Never rejects. */
  next(): Promise<FromThread> {
    return new Promise((resolve) => {
      if (this.#pendingMessage === undefined) this.#resolveNext = resolve;
      else resolve(this.#pendingMessage);
      this.#pendingMessage = undefined;
    });
  }

  resume(calls: ToThread): void {
    this.#startTimer();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(calls);
  }

  /** Terminates the thread in any state. Idempotent. */
  async stop(): Promise<void> {
    this.#stopTimer?.();
    await this.#worker.terminate();
  }

  /** Ends a program that exceeds its time in code where the interpreter does not check the limit. */
  #startTimer(): void {
    const left = this.#isStarted ? Math.max(0, this.#maxRunMs - this.#usedMs) + GRACE_MS : START_MS;
    const late: ProgramEnd = this.#isStarted
      ? { kind: "limit", limit: "time" }
      : { kind: "broken", message: `its thread did not start within ${START_MS / 1_000} seconds` };
    let isOver = false;
    // if this process was busy, it first reads messages that the thread sent in time
    const cancel = this.#clock.timer(() => void onNextTurn(() => (isOver ? undefined : this.#deliver(endMessage(late)))), left);
    this.#stopTimer = () => {
      cancel();
      isOver = true;
      this.#isStarted = true;
      this.#stopTimer = undefined;
    };
  }

  #deliver(message: FromThread): void {
    this.#stopTimer?.();
    if (message.end !== undefined) void this.#worker.terminate();
    if (this.#resolveNext === undefined) this.#pendingMessage ??= message;
    else this.#resolveNext(message);
    this.#resolveNext = undefined;
  }
}

function endMessage(end: ProgramEnd): FromThread {
  return { calls: [], log: "", end, usedMs: 0 };
}

function toProgramEnd(error: Error): ProgramEnd {
  const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isMemory ? { kind: "limit", limit: "memory" } : { kind: "broken", message: error.message };
}
