/** The messages between a run of a program and the thread that it runs in. */

/** Limits of one program. */
export interface ProgramLimits {
  /** Longest time that the program itself computes, in milliseconds; waits for its calls do not count. */
  readonly maxRunMs: number;
  /** Most memory of the program, in MiB. */
  readonly maxMemoryMb: number;
  /** Most calls of tools. */
  readonly maxCalls: number;
  /** Most characters that it prints; the rest is left out. */
  readonly maxLogChars: number;
}

/** How the thread starts; its `workerData`. */
export interface ProgramStart extends ProgramLimits {
  readonly code: string;
  /** JSON text. */
  readonly input: string;
  /** The qualified names of tools, for listing them. */
  readonly toolNames: readonly string[];
  /** Decides `Math.random`. */
  readonly seed: string;
  /** The time on the clock of the program, in milliseconds since the epoch. */
  readonly wallTime: number;
}

/** A call that the program makes. */
export interface ProgramCall {
  /** Counts from 0, in the order of the calls. */
  readonly number: number;
  /** As it was written: `shop::order`, or a bare name. */
  readonly name: string;
  /** JSON text. */
  readonly input: string;
  /** The time on the clock of the program when it was made. Told by the program: how many calls end at once differs where it is run again. */
  readonly madeAt: number;
}

/** The end of a call, for the program. */
export interface SettledCall {
  readonly number: number;
  readonly succeeded: boolean;
  /** JSON text: the output, or the fields of the error. */
  readonly text: string;
  readonly wallTime: number;
}

export interface Place {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** The exception that ended a program. */
export interface ThrownInProgram {
  readonly name: string;
  readonly message: string;
  readonly place: Place | undefined;
  /** Those of the call's error, where it threw one. */
  readonly details: readonly string[];
  readonly hint: string;
}

export type ProgramEnd =
  | { readonly kind: "returned"; readonly text: string; readonly returnedNothing: boolean }
  | ({ readonly kind: "threw" | "invalid" } & ThrownInProgram)
  | { readonly kind: "limit"; readonly limit: "time" | "memory" | "calls" | "stack" | "text" }
  /** The package is not installed, or the interpreter failed. */
  | { readonly kind: "missing" | "broken"; readonly message: string };

/** The program waits, or has ended. */
export interface FromThread {
  /** The calls that it has made since the message before. */
  readonly calls: readonly ProgramCall[];
  /** The text that it has printed since. */
  readonly log: string;
  readonly end: ProgramEnd | undefined;
  /** How long the program has computed so far, in milliseconds. Measured by the thread: this process may be slow to read its messages. */
  readonly usedMs: number;
}

/** Calls that have ended, in the order in which they were made. */
export type ToThread = readonly SettledCall[];
