import type { JsonValue } from "../../core/base/json.ts";
import type { FinishReason, ModelEvent, ModelTool, TokenUsage } from "../../core/model.ts";

/** Reads and writes calls in text, and writes tools and results for a model. */
export interface TextFormat {
  /** For example `bracket`, `hermes` or `deepseek-v3.1`. */
  readonly name: string;
  /** Returns a decoder for one message of a model, which it reads piece by piece. */
  decodeText(options?: DecodeTextOptions): TextDecoding;
  /** Returns the name by which a tool is called in the text. */
  nameOf(tool: Pick<ModelTool, "name" | "fingerprint">): string;
  /** Writes instructions for a model: the tools, and how to call them. Deterministic for the same tools in the same order; empty without tools. */
  describeTools(tools: readonly ModelTool[]): string;
  /** Writes the calls of an earlier message, in the form that the model should have used. */
  writeCalls(calls: readonly WrittenCall[]): string;
  /** Writes the results of calls, as one user message. Marks of the format inside a result are neutralized. */
  writeResults(answers: readonly WrittenAnswer[]): string;
}

/** Options for reading calls in text. */
export interface DecodeTextOptions {
  /** The tools that the model was shown. @default none: every name is accepted, and the type of a value in plain text is guessed */
  readonly tools?: readonly ModelTool[];
  /** How a call of an unknown tool is read. @default depends on the format: `text` if people write the same, `call` if only models do */
  readonly unknownTools?: "text" | "call";
  /**
   * How thinking in the text is read. `split`: separated from the text; `begun`: the same, for a message that begins inside thinking that the prompt
   * opened; `keep`: it stays text.
   *
   * @default "split"
   */
  readonly thinking?: "split" | "begun" | "keep";
  /**
   * The argument that the body of a call is, by tool, for formats whose calls have a body (`bracket`, `xml`). A body without an argument is kept as
   * `content`, with a warning in `warnings`.
   *
   * @default depends on the format; else `content`, the one required argument that is missing, or the only one that can be a string
   */
  readonly bodyArguments?: Readonly<Record<string, string>>;
  /** Maximum number of characters of a message. @default 16_777_216 */
  readonly maxChars?: number;
}

/** How a message ended, and other facts that a provider reports besides the text. */
export interface TextEnding {
  /** @default "stop" */
  readonly finish?: FinishReason;
  readonly finishDetail?: string;
  readonly usage?: Partial<TokenUsage>;
  readonly model?: string;
  readonly id?: string;
}

/** Decodes one message. Calls and text do not depend on how it is split into pieces. */
export interface TextDecoding {
  /** @throws ToolError `too_large` */
  push(text: string): readonly ModelEvent[];
  /** Adds thinking that the provider sent separately from the text. */
  pushReasoning(text: string): readonly ModelEvent[];
  /** Ends the message. A call without its end is text. The first call returns at least `reply-end`. */
  end(ending?: TextEnding): readonly ModelEvent[];
  /** Warnings for people about unusual calls: both a body and its argument, a repeated key. They are also in the reply. */
  readonly warnings: readonly string[];
}

/** A call to be written in text. */
export interface WrittenCall {
  /** The tool's name in the text, from `nameOf`. */
  readonly name: string;
  readonly input: JsonValue;
  readonly id?: string;
  readonly reasoning?: string;
}

/** A result to be written in text. */
export interface WrittenAnswer {
  readonly name: string;
  readonly id?: string;
  /** The text of the result that the model reads. */
  readonly text: string;
}
