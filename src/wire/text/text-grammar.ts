/** What a text format is made of: marks, and for each what stands behind it. */
import type { JsonValue } from "../../core/json.ts";
import type { ModelTool } from "../../core/model.ts";
import type { Reading, TextInput } from "./text-input.ts";

/** A call as it was read. Text as `input` is JSON that is not parsed yet. */
export interface ReadCall {
  readonly name: string;
  readonly input: JsonValue;
  readonly id?: string | undefined;
  readonly reasoning?: string | undefined;
}

/** Where readers read from, and whom they tell. */
export interface ReadPlace {
  readonly input: TextInput;
  /** Told of a whole call. False where it is not to be made: what was read since the last call is text, if the reader says so too. */
  accept(call: ReadCall): boolean;
  /** Whether a call of this name would be made. */
  knows(name: string): boolean;
  /** Undefined where no tools were named, or none has this name. */
  tool(name: string): ModelTool | undefined;
  /** No tools were named. */
  readonly anyTool: boolean;
  /** Text of the message, and thinking. */
  say(text: string): void;
  think(text: string): void;
  warn(warning: string): void;
  /** What was read so far is done with: it is no text, whatever follows. */
  settle(): void;
  /** Nothing but white space was said so far. */
  readonly silent: boolean;
}

/** Reads what stands behind a mark. False: it was no call, and what was read since the last one is text. */
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
  /** Where no call stands behind it, the mark is one that stands before calls. */
  readonly wraps?: boolean;
}

export interface TextGrammar {
  readonly calls: readonly CallMark[];
  /** Marks around calls: nothing by themselves, text where no call follows. */
  readonly before?: readonly string[];
  /** Marks behind calls: left out there, text anywhere else. */
  readonly after?: readonly string[];
  /** Marks that models say and nobody should read. */
  readonly unsaid?: readonly string[];
  /** Pairs of marks around thinking. @default `<think>` and `</think>` */
  readonly thinking?: readonly (readonly [open: string, close: string])[];
  /** Marks that end thinking, too, and mean what they mean elsewhere. */
  readonly thinkingEnds?: readonly string[];
  /** Pairs of marks around what is nobody's business. */
  readonly hidden?: readonly (readonly [open: string, close: string])[];
  /** Reads the beginning of a message, before any mark. */
  readonly start?: CallReader;
  /** @default "call" */
  readonly unknownTools?: "text" | "call";
}
