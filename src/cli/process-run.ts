/** Runs the command line in this process, connected to its streams and signals. */
import { fstatSync, openSync } from "node:fs";
import { constants } from "node:os";
import { Readable } from "node:stream";
import { ReadStream } from "node:tty";
import { ERROR_CODES } from "../core/error-codes.ts";
import { systemErrorCode } from "../core/base/system-error-code.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { redirectStdout, type RedirectedStdout } from "../processes/redirect-stdout.ts";
import { shortenServerGrace } from "../processes/server-process.ts";
import { runCli } from "./run-cli.ts";
import { TerminalPrompt } from "./terminal/terminal-prompt.ts";
import type { Output } from "./terminal/terminal-text.ts";

/** The signals that stop a command. */
type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

const stop = new AbortController();
/** The first signal that stopped the whole program. */
let stoppedBy: StopSignal | undefined;
let readerIsGone = false;
let outputIsLost = false;
let isDone = false;

/** Called at the next Ctrl-C in place of stopping the program; undefined if that Ctrl-C stops the program. */
let interrupt: (() => void) | undefined;

function onInterrupt(listener: () => void): () => void {
  interrupt = listener;
  return () => {
    if (interrupt === listener) interrupt = undefined;
  };
}

/**
 * Handles a signal. The first one stops the calls and closes the toolsets; a second one ends the process at once, except SIGHUP: when a terminal is
 * closed, both the system and the shell send it.
 */
function onSignal(signal: StopSignal): void {
  if (signal === "SIGINT" && interrupt !== undefined && !stop.signal.aborted) {
    const listener = interrupt;
    interrupt = undefined;
    listener();
    return;
  }
  if (stop.signal.aborted && signal === "SIGHUP") return;
  if (stop.signal.aborted) exitImmediately(signal);
  if (signal === "SIGINT") shortenServerGrace(); // a person waits
  stoppedBy = signal;
  stop.abort(new ToolError("cancelled", `Stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}.`));
}

/** Returns the exit code that shells use for a program that was ended by a signal: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP. */
function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}

/**
 * Ends the process by the signal, after listeners of `exit`. `process.exit` alone would wait for threads, such as one where SQLite waits for a lock.
 */
function exitImmediately(signal: StopSignal): never {
  if (process.platform !== "win32")
    process.on("exit", () => {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  process.exit(exitCodeOf(signal));
}

process.on("SIGINT", () => {
  if (stderr.isTTY === true && !stderrIsClosed) process.stderr.write("\n"); // the terminal has printed "^C" into the line
  onSignal("SIGINT");
});
process.on("SIGTERM", () => onSignal("SIGTERM"));
process.on("SIGHUP", () => onSignal("SIGHUP"));
/** Ctrl-Break on Windows. Programs send it there in place of SIGTERM, and it would end this process silently. */
process.on("SIGBREAK", () => onSignal("SIGTERM"));

/** A handler threw where no call waits for it, such as in a timer: the state it left is unknown. */
process.on("uncaughtException", (thrown) => {
  stop.abort(new ToolError("execution_failed", `Something threw outside any call: ${describeThrown(thrown)}`, { cause: thrown }));
});

/** Node's exit code if the event loop became empty while the program still waited. */
const NOTHING_LEFT_TO_WAIT_FOR = 13;

/** Reports a process that ends before its command is done, and sets an exit code that says so. */
process.on("exit", (exitCode) => {
  if (isDone || stop.signal.aborted) return;
  const why = exitCode === NOTHING_LEFT_TO_WAIT_FOR ? "The process ended" : "A handler ended the process";
  process.stderr.write(`haft: ${why} before the command was done.\n`);
  process.exitCode = ERROR_CODES.execution_failed.exit;
});

/** A reader that has seen enough, such as `head`, stops the command like a signal and without an error; a full disk is an error. */
process.stdout.on("error", (error) => {
  if (readerIsGone || outputIsLost) return;
  readerIsGone = systemErrorCode(error) === "EPIPE";
  outputIsLost = !readerIsGone;
  if (outputIsLost) process.stderr.write(`haft: Standard output cannot be written: ${describeThrown(error)}\n`);
  stop.abort(new ToolError("cancelled", readerIsGone ? "Nothing reads the output any more." : "Its output is lost."));
});
let stderrIsClosed = false;
process.stderr.on("error", () => {
  stderrIsClosed = true;
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
  /** The terminal. It is opened again if a command that takes `-` has read standard input up to Ctrl-D. */
  get input() {
    if (!process.stdin.readableEnded || process.platform === "win32") return process.stdin;
    return (terminal ??= new ReadStream(openSync("/dev/tty", "r")));
  },
  output: process.stderr,
  marksPastes: process.env["TERM"] !== "dumb",
  onInterrupt: () => onSignal("SIGINT"),
});

/** Returns standard output; for JSON alone if output of tools there is redirected to standard error. */
function standardOutput(stdout: NodeJS.WriteStream, redirected: RedirectedStdout | undefined): Output {
  const write = (text: string): boolean => stdout.write(text);
  return {
    write: (text) => (redirected === undefined ? write(text) : redirected.writeThrough(() => write(text))),
    isTTY: stdout.isTTY,
    get columns() {
      return stdout.columns;
    },
    get writableNeedDrain() {
      return stdout.writableNeedDrain;
    },
    get isLost() {
      return readerIsGone || outputIsLost;
    },
    once: (event, listener) => stdout.once(event, listener),
  };
}

const diverted = process.argv.includes("--json") ? redirectStdout() : undefined;
const stdout = standardOutput(process.stdout, diverted);

/**
 * Resolves when everything that was written has been read, or cannot be read any more, and its errors have been reported. Writes nothing if nothing is
 * left: a full disk refuses even that.
 */
function waitUntilFlushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) =>
    stream.destroyed || stream.writableLength === 0 ? setImmediate(resolve) : stream.write("", () => resolve()),
  );
}

/** Whether standard input is a folder. False if there is none, as for a program without a console. */
function isFolder(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isDirectory();
  } catch {
    return false;
  }
}

/** Returns an input that fails when it is read: Node reads a folder as an empty input. */
function folderInput(): Readable {
  const error = new ToolError("invalid_argument", "Standard input is a folder, not text.", {
    hint: "Redirect a file or a pipe to it.",
  });
  return new Readable({
    read() {
      this.destroy(error);
    },
  });
}

/** Returns the exit code of the signal for a command that a signal cancelled. */
function finalExitCode(exitCode: number): number {
  return exitCode === ERROR_CODES.cancelled.exit && stoppedBy !== undefined ? exitCodeOf(stoppedBy) : exitCode;
}

const exitCode = await runCli(process.argv.slice(2), {
  stdout: stdout.isTTY ? prompt.wrapOutput(stdout) : stdout,
  stderr: stderr.isTTY === true ? prompt.wrapOutput(stderr) : stderr,
  stdin: isFolder(0) ? folderInput() : process.stdin,
  ask: process.stdin.isTTY && process.stderr.isTTY ? prompt.ask : undefined,
  environment: process.env,
  signal: stop.signal,
  onInterrupt,
});
diverted?.restore();
await Promise.all([
  readerIsGone ? undefined : waitUntilFlushed(process.stdout),
  stderrIsClosed ? undefined : waitUntilFlushed(process.stderr),
]);
// Exits without waiting for the event loop, which an abandoned handler may keep running indefinitely.
isDone = true;
process.exit(outputIsLost ? ERROR_CODES.store_failed.exit : readerIsGone ? 0 : finalExitCode(exitCode));
