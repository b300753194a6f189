/** The parts of a text format: marks, and for each the text that follows it. */
import type { JsonValue } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import type { Reading, TextInput } from "./text-input.ts";

/** A call as it was read. Text as `input` is JSON that is not parsed yet. */
export interface ReadCall {
  readonly name: string;
  readonly input: JsonValue;
  readonly id?: string | undefined;
  readonly reasoning?: string | undefined;
  /** Corrections made when the call was read. */
  readonly warnings?: readonly string[] | undefined;
}

/** Where readers read from, and whom they tell. */
export interface ReadPlace {
  readonly input: TextInput;
  /** Called with a whole call. False where it is not to be made: what was read since the last call is text, if the reader says so too. */
  accept(call: ReadCall): boolean;
  /** Whether a call of this name would be made. */
  knows(name: string): boolean;
  /** Whether a tool has this name, or several have it as their bare one. */
  has(name: string): boolean;
  /** Undefined where no tools were named, or not one alone has this name. */
  tool(name: string): ModelTool | undefined;
  /** No tools were named. */
  readonly anyTool: boolean;
  /** By tool, the argument that the body of its call is. */
  readonly bodyArguments: Readonly<Record<string, string>>;
  /** Text of the message, and thinking. */
  say(text: string): void;
  think(text: string): void;
  warn(warning: string): void;
  /** Consumes what was read so far: it is no text, whatever follows. */
  settle(): void;
  /** Nothing but white space was said so far. */
  readonly silent: boolean;
}

/** Reads the text after a mark. False: it was no call, and what was read since the last one is text. */
export type CallReader = (place: ReadPlace, mark: string) => Reading<boolean>;

export interface CallMark {
  readonly mark: string;
  readonly read: CallReader;
  /**
   * Where the mark counts. `anywhere`: only models write it; `prose`: not where it is quoted, in code or in quotation marks;
   * `line`: prose, at the beginning of a line; `start`: before anything else.
   *
   * @default "anywhere"
   */
  readonly where?: "anywhere" | "prose" | "line" | "start";
  /** Of what kind the next characters must be that are no white space, one kind a character: all else is text at once. */
  readonly behind?: readonly RegExp[];
  /** Where no call follows it, the mark is one that precedes calls. */
  readonly wraps?: boolean;
  /** People and other programs write the mark, too: `auto` does not read it. @default false; what does not count `anywhere` is shared */
  readonly shared?: boolean;
  /** @default the grammar's */
  readonly unknownTools?: "text" | "call";
}

/** Marks around thinking: the one that opens it, and each that closes it. */
export type ThinkingMarks = readonly [open: string, ...closes: string[]];

export interface TextGrammar {
  readonly calls: readonly CallMark[];
  /** Marks around calls: nothing by themselves, text in a message that has neither a call nor thinking. */
  readonly before?: readonly string[];
  /** Marks behind calls: left out in a message that has a call or thinking, text in any other. */
  readonly after?: readonly string[];
  /** Marks that models write and a reader should not see. */
  readonly unsaid?: readonly string[];
  /** Marks around thinking. A token that closes where nothing is open is left out, a tag (`</think>`) is text. @default `<think>` and `</think>` */
  readonly thinking?: readonly ThinkingMarks[];
  /** Marks that end thinking which no mark closes later, where only calls follow: other calls in thinking are thinking. */
  readonly thinkingEnds?: readonly string[];
  /** Whether a mark that would close thinking ends a call in the thinking instead, by the text before it. */
  readonly endsCall?: (text: string, mark: string) => boolean;
  /** Pairs of marks around text that is not shown. */
  readonly hidden?: readonly (readonly [open: string, close: string])[];
  /** Reads the beginning of a message, before any mark; `shared` where people begin theirs so, too. */
  readonly start?: Pick<CallMark, "read" | "shared">;
  /** @default "call" */
  readonly unknownTools?: "text" | "call";
}
