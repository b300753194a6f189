/** The messages between the host of a program and its thread. */

/** Limits of one program. */
export interface ProgramLimits {
  /** Longest time that the program itself may compute, in milliseconds; waiting for its calls does not count. */
  readonly maxRunMs: number;
  /** Maximum memory of the program, in MiB. */
  readonly maxMemoryMb: number;
  /** Maximum number of tool calls. */
  readonly maxCalls: number;
  /** Maximum number of characters that the program may print; the rest is left out. */
  readonly maxLogChars: number;
}

/** The `workerData` of the thread. */
export interface ProgramStart extends ProgramLimits {
  readonly code: string;
  /** JSON text. */
  readonly input: string;
  /** Qualified names of the tools, for listing them. */
  readonly toolNames: readonly string[];
  /** Seed of `Math.random`. */
  readonly seed: string;
  /** Initial time of the program's clock, in milliseconds since the epoch. */
  readonly wallTime: number;
}

/** A call that the program makes. */
export interface ProgramCall {
  /** Index of the call, from 0, in the order of the calls. */
  readonly number: number;
  /** The name as the program wrote it: `shop::order`, or a bare name. */
  readonly name: string;
  /** JSON text. */
  readonly input: string;
  /** Time of the program's clock at the call. Set by the program: how many calls end together may differ when it is run again. */
  readonly madeAt: number;
}

/** The end of a call, passed to the program. */
export interface SettledCall {
  readonly number: number;
  readonly succeeded: boolean;
  /** JSON text: the output, or the fields of the error. */
  readonly text: string;
  readonly wallTime: number;
}

export interface Place {
  /** Both are counted from 1. */
  readonly line: number;
  readonly column: number;
}

/** The exception that ended a program. */
export interface ThrownInProgram {
  readonly name: string;
  readonly message: string;
  readonly place: Place | undefined;
  /** Details of the error, if it is that of a call. */
  readonly details: readonly string[];
  readonly hint: string;
}

export type ProgramEnd =
  | { readonly kind: "returned"; readonly text: string; readonly returnedNothing: boolean }
  | ({ readonly kind: "threw" | "invalid" } & ThrownInProgram)
  | { readonly kind: "limit"; readonly limit: "time" | "memory" | "calls" | "stack" | "text" }
  /** `missing`: the package is not installed; `broken`: the interpreter failed. */
  | { readonly kind: "missing" | "broken"; readonly message: string };

/** Sent when the program waits for calls, or has ended. */
export interface FromThread {
  /** Calls made since the last message. */
  readonly calls: readonly ProgramCall[];
  /** Text printed since the last message. */
  readonly log: string;
  readonly end: ProgramEnd | undefined;
  /** How long the program has computed so far, in milliseconds. Measured by the thread, since this process may be slow to read messages. */
  readonly usedMs: number;
}

/** Calls that have ended, in the order in which they were made. */
export type ToThread = readonly SettledCall[];
