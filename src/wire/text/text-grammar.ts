/** The parts of a text format: marks, and readers for the text after them. */
import type { JsonValue } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import type { Reading, TextInput } from "./text-input.ts";

/** A call that was read. A string as `input` is JSON that is not parsed yet. */
export interface ReadCall {
  readonly name: string;
  readonly input: JsonValue;
  readonly id?: string | undefined;
  readonly reasoning?: string | undefined;
  /** Corrections made while the call was read. */
  readonly warnings?: readonly string[] | undefined;
}

/** The input of readers, and the receiver of what they read. */
export interface ReaderContext {
  readonly input: TextInput;
  /** Reports a complete call. Returns false if it cannot be made: if the reader then returns false, everything read since the last call is text. */
  acceptCall(call: ReadCall): boolean;
  /** Whether a call with this name would be accepted. */
  acceptsName(name: string): boolean;
  /** Whether one tool has this name, or several have it as their bare name. */
  hasTool(name: string): boolean;
  /** Returns the tool of this name; undefined if no tools were given, or if the name is not that of exactly one. */
  findTool(name: string): ModelTool | undefined;
  /** Whether no tools were given, so that every name is accepted. */
  readonly acceptsAnyTool: boolean;
  /** The argument that the body of a call is, by tool. */
  readonly bodyArguments: Readonly<Record<string, string>>;
  /** Reports text of the message; `addThinking` reports thinking. */
  addText(text: string): void;
  addThinking(text: string): void;
  warn(warning: string): void;
  /** Consumes everything read so far, so that it is not text, whatever follows. */
  commit(): void;
  /** Whether only white space was reported so far. */
  readonly hasNoText: boolean;
}

/** Reads the text after a mark. Returns false if it is not a call: then everything read since the last call is text. */
export type CallReader = (context: ReaderContext, mark: string) => Reading<boolean>;

export interface CallMark {
  readonly mark: string;
  readonly read: CallReader;
  /**
   * Where the mark has its meaning. `anywhere`: only models write it; `prose`: not if it is quoted, in code or after a quotation mark; `line`: like
   * prose, but at the beginning of a line; `start`: only before anything else.
   *
   * @default "anywhere"
   */
  readonly where?: "anywhere" | "prose" | "line" | "start";
  /** Patterns for the next characters, not counting white space, one per character; if one does not match, the mark is text at once. */
  readonly nextPatterns?: readonly RegExp[];
  /** Whether the mark, if no call follows it, is one of the marks in `before`. */
  readonly wraps?: boolean;
  /** Whether people and other programs write the mark, too, so that `auto` ignores it. @default false; marks not read `anywhere` are always shared */
  readonly shared?: boolean;
  /** @default the grammar's */
  readonly unknownTools?: "text" | "call";
}

/** Marks around thinking: the opening mark, and every mark that closes it. */
export type ThinkingMarks = readonly [open: string, ...closes: string[]];

export interface TextGrammar {
  readonly calls: readonly CallMark[];
  /** Marks before calls: dropped in a message that has a call or thinking, text in any other. */
  readonly before?: readonly string[];
  /** Marks after calls: dropped in a message that has a call or thinking, text in any other. */
  readonly after?: readonly string[];
  /** Marks that models write, but that people should not see. */
  readonly droppedMarks?: readonly string[];
  /** Marks around thinking. An unmatched closing token is dropped, an unmatched tag (`</think>`) is text. @default `<think>` and `</think>` */
  readonly thinking?: readonly ThinkingMarks[];
  /** Marks that end thinking if no mark closes it later and only calls follow. Other calls inside thinking are part of it. */
  readonly thinkingEnds?: readonly string[];
  /** Whether a mark that would close thinking ends a call inside it instead, judged by the text before the mark. */
  readonly endsCall?: (text: string, mark: string) => boolean;
  /** Pairs of marks around text that is dropped. */
  readonly hidden?: readonly (readonly [open: string, close: string])[];
  /** Reads the beginning of a message, before any mark; `shared` if people begin messages like that, too. */
  readonly start?: Pick<CallMark, "read" | "shared">;
  /** @default "call" */
  readonly unknownTools?: "text" | "call";
}
