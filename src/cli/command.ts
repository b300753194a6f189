/** The arguments of every command, and its description. */
import type { CliOptions, OptionName } from "./command-line.ts";
import type { Output, Screen } from "./terminal/terminal-text.ts";

/** The world the program runs in. */
export interface CommandWorld {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Standard input, in pieces. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Puts a question to the person at the terminal; undefined when there is no terminal. */
  readonly ask: Ask | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C, with a ToolError as reason. */
  readonly signal: AbortSignal;
  /**
   * Takes the next Ctrl-C for something that can be stopped by itself; the one after it is the program's again. The returned function
   * gives it back. Left out where it cannot be pressed.
   */
  readonly onInterrupt?: (listener: () => void) => () => void;
}

/** Resolves to the line that was typed, undefined at the end of the input (Ctrl-D); rejects when the signal aborts. */
export type Ask = (question: string, signal: AbortSignal, options?: AskOptions) => Promise<string | undefined>;

export interface AskOptions {
  /**
   * Asks for the next message: waits until open questions are answered, and takes text that was typed before it is shown. For a question
   * that text is dropped. @default false
   */
  readonly isPrompt?: boolean;
}

export interface CommandContext extends Omit<CommandWorld, "stdout" | "stderr"> {
  readonly args: readonly string[];
  readonly options: CliOptions;
  /** The output of the command. */
  readonly out: Screen;
  /** Everything else: repairs, warnings, questions, errors. */
  readonly err: Screen;
}

export interface Command {
  /** As it is typed: `run`, `sessions list`. */
  readonly name: string;
  /** Its arguments, as the help shows them. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Its help beyond the summary, in lines of at most 80 characters. */
  readonly details: readonly string[];
  /** Fewest and most arguments. */
  readonly args: readonly [number, number];
  /** Its options besides `json` and `help`. */
  readonly options: readonly OptionName[];
  readonly examples: readonly string[];
  /** Commands that its name and another word call; their names begin with its own. */
  readonly subcommands?: readonly Command[];
  /** Resolves to the exit code; rejects with a ToolError, which is printed and gives the exit code. */
  run(context: CommandContext): Promise<number>;
}

/** Commands that belong together and are typed behind a common word. */
export interface CommandGroup extends Pick<Command, "name" | "summary" | "details"> {
  /** Their names begin with that of the group. */
  readonly commands: readonly Command[];
}

/** A command as its file gives it; its name, usage and summary are in `COMMANDS`. */
export type CommandBody = Omit<Command, "name" | "usage" | "summary">;
export type GroupBody = Omit<CommandGroup, "name" | "summary">;
