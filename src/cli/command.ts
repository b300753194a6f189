/** Types of commands, and of the arguments that every command is called with. */
import type { CliOptions, OptionName } from "./command-line.ts";
import type { Output, Screen } from "./terminal/terminal-text.ts";

/** The streams, environment and signals of the program. */
export interface CommandHost {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Standard input, in chunks. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Asks the person at the terminal; undefined if there is no terminal. */
  readonly ask: Ask | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C, with a ToolError as reason. */
  readonly signal: AbortSignal;
  /**
   * Sends the next Ctrl-C to `listener` instead of ending the program; the one after it ends the program again. The returned function removes
   * the listener. Undefined if there is no terminal to press Ctrl-C at.
   */
  readonly onInterrupt?: (listener: () => void) => () => void;
}

/** Resolves to the line that was typed, or undefined at the end of the input (Ctrl-D). Rejects when the signal aborts. */
export type Ask = (question: string, signal: AbortSignal, options?: AskOptions) => Promise<string | undefined>;

export interface AskOptions {
  /**
   * Whether this asks for the next message. Such a prompt waits until open questions are answered, and takes text that was typed before it is
   * shown. A question drops that text. @default false
   */
  readonly isPrompt?: boolean;
}

export interface CommandContext extends Omit<CommandHost, "stdout" | "stderr"> {
  readonly args: readonly string[];
  readonly options: CliOptions;
  /** Standard output: the output of the command. */
  readonly out: Screen;
  /** Standard error: everything else, such as repairs, warnings, questions and errors. */
  readonly err: Screen;
}

export interface Command {
  /** The name as it is typed: `run`, `sessions list`. */
  readonly name: string;
  /** The arguments in the help. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The help after the summary, in lines of at most 80 characters. */
  readonly details: readonly string[];
  /** The least and the greatest number of arguments. */
  readonly args: readonly [number, number];
  /** The options besides `json` and `help`. */
  readonly options: readonly OptionName[];
  readonly examples: readonly string[];
  /** Commands that are called by this command's name and another word; their names begin with this name. */
  readonly subcommands?: readonly Command[];
  /** Resolves to the exit code. Rejects with a ToolError, which is printed and decides the exit code. */
  run(context: CommandContext): Promise<number>;
}

/** Commands that share a first word. */
export interface CommandGroup extends Pick<Command, "name" | "summary" | "details"> {
  /** The commands; their names begin with the name of the group. */
  readonly commands: readonly Command[];
}

/** A command without its name, usage and summary, which are in `COMMANDS`. */
export type CommandBody = Omit<Command, "name" | "usage" | "summary">;
export type GroupBody = Omit<CommandGroup, "name" | "summary">;
