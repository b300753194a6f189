/** The seam behind which a way of writing tool calls in plain text is. */
import type { JsonValue } from "../../core/base/json.ts";
import type { FinishReason, ModelEvent, ModelTool, TokenUsage } from "../../core/model.ts";

/** How a model writes its calls in text, and how tools and results are shown to it. */
export interface TextFormat {
  /** `bracket`, `hermes`, `deepseek-v3.1`. */
  readonly name: string;
  /** Reads one message of a model, piece by piece. */
  decodeText(options?: DecodeTextOptions): TextDecoding;
  /** Returns the name of a tool in the text. */
  nameOf(tool: Pick<ModelTool, "name" | "fingerprint">): string;
  /** Teaches a model the tools and how to call them. The same tools in the same order give the same text. Empty for no tools. */
  describeTools(tools: readonly ModelTool[]): string;
  /** Calls of an earlier message, as the model should have written them. */
  writeCalls(calls: readonly WrittenCall[]): string;
  /** Writes the answers to calls, as one message of the user. Marks of the format in an answer are made harmless. */
  writeResults(answers: readonly WrittenAnswer[]): string;
}

/** How calls in text are read. */
export interface DecodeTextOptions {
  /** The tools that the model was shown. @default none: any name is a tool's, and values that are only text are taken for what they look like */
  readonly tools?: readonly ModelTool[];
  /** How a call of a name that no tool has is read. @default the format's: `text` where people write alike, `call` where only models do */
  readonly unknownTools?: "text" | "call";
  /**
   * How thinking in the text is read. `begun`: the prompt opened it already, the message begins inside; `keep`: it stays text.
   *
   * @default "split"
   */
  readonly thinking?: "split" | "begun" | "keep";
  /**
   * By tool, the argument that is the body of its call, for formats whose calls have one (`bracket`, `xml`). A body that belongs to
   * no argument is kept as `content` and reported in `warnings`.
   *
   * @default the format's; else `content`, the one required argument that is left, or the only one that can be text
   */
  readonly bodyArguments?: Readonly<Record<string, string>>;
  /** Most characters of a message. @default 16_777_216 */
  readonly maxChars?: number;
}

/** How a message ended; what a provider tells besides its text. */
export interface TextEnding {
  /** @default "stop" */
  readonly finish?: FinishReason;
  readonly finishDetail?: string;
  readonly usage?: Partial<TokenUsage>;
  readonly model?: string;
  readonly id?: string;
}

/** One message on its way. The calls and the text do not depend on how it is split into pieces. */
export interface TextDecoding {
  /** @throws ToolError `too_large` */
  push(text: string): readonly ModelEvent[];
  /** Thinking that came with the text. */
  pushReasoning(text: string): readonly ModelEvent[];
  /** The message is over. A call that lacks its end is text. Returns at least `reply-end`, the first time. */
  end(ending?: TextEnding): readonly ModelEvent[];
  /** Notes for people on odd calls: a body together with its argument, a key that occurs twice. Also in the reply. */
  readonly warnings: readonly string[];
}

/** A call to be written in text. */
export interface WrittenCall {
  /** As the tools are named in the text. */
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
