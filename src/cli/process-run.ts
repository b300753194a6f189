/** Runs the command line in this process: connects it to the streams and the signals. */
import { fstatSync, openSync } from "node:fs";
import { constants } from "node:os";
import { Readable } from "node:stream";
import { ReadStream } from "node:tty";
import { ERROR_CODES } from "../core/error-codes.ts";
import { systemCode } from "../core/base/system-code.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { divertOutput, type DivertedOutput } from "../processes/divert-output.ts";
import { endServersQuickly } from "../processes/process.ts";
import { runCli } from "./run-cli.ts";
import { TerminalPrompt } from "./terminal/terminal-prompt.ts";
import type { Output } from "./terminal/terminal-text.ts";

/** The signals that stop a command. */
type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

const stop = new AbortController();
/** The first signal that stopped it all. */
let stoppedBy: StopSignal | undefined;
let readerIsGone = false;
let outputIsLost = false;
let isDone = false;

/** Stops the part that the next Ctrl-C stops by itself; undefined when it stops everything. */
let interrupt: (() => void) | undefined;

function onInterrupt(listener: () => void): () => void {
  interrupt = listener;
  return () => {
    if (interrupt === listener) interrupt = undefined;
  };
}

/**
 * The first signal stops the calls and closes the toolsets; a second one ends the process at once, but for SIGHUP: where a terminal is
 * closed, the system and the shell both send it.
 */
function onSignal(signal: StopSignal): void {
  if (signal === "SIGINT" && interrupt !== undefined && !stop.signal.aborted) {
    const listener = interrupt;
    interrupt = undefined;
    listener();
    return;
  }
  if (stop.signal.aborted && signal === "SIGHUP") return;
  if (stop.signal.aborted) endAtOnce(signal);
  if (signal === "SIGINT") endServersQuickly(); // a person waits
  stoppedBy = signal;
  stop.abort(new ToolError("cancelled", `Stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}.`));
}

/** The exit code that shells give a program which a signal ended: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP. */
function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}

/** `process.exit` alone would wait for threads, such as one in which SQLite waits for a lock. Those who listen for the exit are called before. */
function endAtOnce(signal: StopSignal): never {
  if (process.platform !== "win32")
    process.on("exit", () => {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  process.exit(exitCodeOf(signal));
}

process.on("SIGINT", () => {
  if (stderr.isTTY === true && !errorsAreUnread) process.stderr.write("\n"); // the terminal has put "^C" into the line
  onSignal("SIGINT");
});
process.on("SIGTERM", () => onSignal("SIGTERM"));
process.on("SIGHUP", () => onSignal("SIGHUP"));
/** Ctrl-Break on Windows: programs send it there in place of SIGTERM, which would end this process without a word. */
process.on("SIGBREAK", () => onSignal("SIGTERM"));

/** A handler that throws where no call waits for it, such as in a timer: the state it left behind is unknown. */
process.on("uncaughtException", (thrown) => {
  stop.abort(new ToolError("execution_failed", `Something threw outside any call: ${describeThrown(thrown)}`, { cause: thrown }));
});

/** Node's exit code for a program whose event loop ran empty while it still waited. */
const NOTHING_LEFT_TO_WAIT_FOR = 13;

/** A process that ends before the command is done must not pass for an answer, nor end without a word. */
process.on("exit", (exitCode) => {
  if (isDone || stop.signal.aborted) return;
  const why = exitCode === NOTHING_LEFT_TO_WAIT_FOR ? "The process ended" : "A handler ended the process";
  process.stderr.write(`haft: ${why} before the command was done.\n`);
  process.exitCode = ERROR_CODES.execution_failed.exit;
});

/** A reader that has seen enough, such as `head`, stops us like a signal, but is no error of anybody's; a full disk is one. */
process.stdout.on("error", (error) => {
  if (readerIsGone || outputIsLost) return;
  readerIsGone = systemCode(error) === "EPIPE";
  outputIsLost = !readerIsGone;
  if (outputIsLost) process.stderr.write(`haft: Standard output cannot be written: ${describeThrown(error)}\n`);
  stop.abort(new ToolError("cancelled", readerIsGone ? "The output has no reader any more." : "Its output is lost."));
});
let errorsAreUnread = false;
process.stderr.on("error", () => {
  errorsAreUnread = true;
});
const stderr: Output = {
  write: (text) => readerIsGone || process.stderr.write(text),
  isTTY: process.stderr.isTTY,
  get columns() {
    return process.stderr.columns;
  },
};

let terminal: ReadStream | undefined;

const prompt = new TerminalPrompt({
  /** The terminal, opened again where a command that takes `-` has read standard input up to Ctrl-D. */
  get input() {
    if (!process.stdin.readableEnded || process.platform === "win32") return process.stdin;
    return (terminal ??= new ReadStream(openSync("/dev/tty", "r")));
  },
  output: process.stderr,
  marksPastes: process.env["TERM"] !== "dumb",
  onInterrupt: () => onSignal("SIGINT"),
});

/** Standard output for JSON alone: what tools print there goes to standard error. */
function jsonOutput(stdout: NodeJS.WriteStream, { through }: DivertedOutput): Output {
  return {
    write: (text) => through(() => stdout.write(text)),
    isTTY: stdout.isTTY,
    get columns() {
      return stdout.columns;
    },
    get writableNeedDrain() {
      return stdout.writableNeedDrain;
    },
    once: (event, listener) => stdout.once(event, listener),
  };
}

const diverted = process.argv.includes("--json") ? divertOutput() : undefined;
const stdout = diverted === undefined ? process.stdout : jsonOutput(process.stdout, diverted);

/** Resolves when everything written has been taken, or will not be taken. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => (stream.destroyed ? resolve() : stream.write("", () => resolve())));
}

/** False where there is nothing: a program without a console may have no standard input. */
function isFolder(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isDirectory();
  } catch {
    return false;
  }
}

/** Fails when it is read: Node gives a folder as an empty input. */
function folderInput(): Readable {
  const error = new ToolError("invalid_argument", "Standard input is a folder, not text.", {
    hint: "Give it a file, or what a pipe sends.",
  });
  return new Readable({
    read() {
      this.destroy(error);
    },
  });
}

/** A command that was cancelled by a signal ends with the code of that signal. */
function finalCode(exitCode: number): number {
  return exitCode === ERROR_CODES.cancelled.exit && stoppedBy !== undefined ? exitCodeOf(stoppedBy) : exitCode;
}

const exitCode = await runCli(process.argv.slice(2), {
  stdout: stdout.isTTY ? prompt.above(stdout) : stdout,
  stderr: stderr.isTTY === true ? prompt.above(stderr) : stderr,
  stdin: isFolder(0) ? folderInput() : process.stdin,
  ask: process.stdin.isTTY && process.stderr.isTTY ? prompt.ask : undefined,
  environment: process.env,
  signal: stop.signal,
  onInterrupt,
});
diverted?.release();
await Promise.all([readerIsGone ? undefined : flushed(process.stdout), errorsAreUnread ? undefined : flushed(process.stderr)]);
// Not left to the event loop: a tool that was cut off may hold it for as long as it likes.
isDone = true;
process.exit(outputIsLost ? ERROR_CODES.execution_failed.exit : readerIsGone ? 0 : finalCode(exitCode));
