/** What every command is given, and what it is. */
import type { CliOptions } from "./command-line.ts";
import type { Output, Paint } from "./terminal-text.ts";

/** The world a command runs in; a test gives it another. */
export interface CommandWorld {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Reads all of standard input as text. */
  readonly readStdin: () => Promise<string>;
  /** Puts a question to the person at the terminal; undefined when nobody is there. */
  readonly ask: ((question: string, signal: AbortSignal) => Promise<string>) | undefined;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface CommandContext extends CommandWorld {
  readonly args: readonly string[];
  readonly options: CliOptions;
  readonly paint: Paint;
  /** Columns of standard output; 100 where it is no terminal. */
  readonly width: number;
}

export interface Command {
  readonly name: string;
  /** Its arguments, as the help shows them. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Fewest and most arguments. */
  readonly args: readonly [number, number];
  /** Long options it takes besides `config`, `json` and `help`. */
  readonly options: readonly string[];
  readonly examples: readonly string[];
  /** Resolves to the exit code. */
  run(context: CommandContext): Promise<number>;
}
