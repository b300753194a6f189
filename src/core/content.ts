/** The content of a tool's answer besides JSON: text, images and files, in the order in which the model sees them. */
import { shareClass } from "./base/share-class.ts";
import { checkKnownKeys, type OptionNames } from "./known-keys.ts";
import type { Fidelity } from "./answers/fidelity.ts";
import type { JsonValue } from "./base/json.ts";

/** One part of a message or an answer: text, an image, audio, a file or a link to a file. */
export type ContentPart = (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mediaType: string; readonly data: string }
  | { readonly type: "audio"; readonly mediaType: string; readonly data: string }
  | {
      readonly type: "file";
      readonly uri: string;
      readonly mediaType?: string;
      readonly text?: string;
      readonly name?: string;
      /** A name for people. */
      readonly title?: string;
      /** Describes the file for a model that sees its address instead of its bytes. */
      readonly description?: string;
      /** The size of the file, if it is known and the bytes are stored elsewhere. */
      readonly bytes?: number;
    }
) & {
  /**
   * Hints for a program that shows the part to people, as in MCP. A model sees every part, whatever its audience.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#annotations
   */
  readonly annotations?: {
    /** For whom the part is meant. @default both */
    readonly audience?: readonly ("user" | "assistant")[];
    /** How important the part is: 1 is required, 0 is optional. */
    readonly priority?: number;
    /** When the part was last changed, in ISO 8601. */
    readonly lastModified?: string;
  };
};

/** The fields of a tool's output besides its value. */
export interface ToolOutputOptions {
  /** The content that the model sees; `data` of images and audio is base64. */
  readonly content?: readonly ContentPart[];
  /** The answer as JSON, checked against the output schema. */
  readonly output?: unknown;
  /** Only for programs, never shown to a model. JSON; other values are dropped with a warning. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** For a tool that runs programs: the exit code. Any but 0 makes the call an `execution_failed` error that keeps output and content. */
  readonly exitCode?: number;
  /** Why the call failed although it has an answer: the call ends with `execution_failed`, and keeps output and content. */
  readonly error?: string;
  /** For an engine that answers in place of a tool: set if this answer is more or less reliable than its other answers. */
  readonly fidelity?: Fidelity;
  /**
   * The call of this session whose result this answer refers to instead of repeating it, such as "unchanged, see the earlier result". If the model no
   * longer sees that result, it sees its content here instead.
   */
  readonly sameAs?: string;
}

const OPTIONS: OptionNames<ToolOutputOptions> = {
  content: true,
  output: true,
  metadata: true,
  fidelity: true,
  error: true,
  exitCode: true,
  sameAs: true,
};

/** A handler's answer that has content parts or metadata besides its JSON; return a bare value if JSON is enough. */
export class ToolOutput {
  static {
    shareClass(this, "ToolOutput");
  }

  readonly content: readonly ContentPart[] | undefined;
  readonly output: unknown;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  readonly exitCode: number | undefined;
  readonly error: string | undefined;
  readonly fidelity: Fidelity | undefined;
  readonly sameAs: string | undefined;

  constructor(options: ToolOutputOptions) {
    checkKnownKeys(options, OPTIONS, "new ToolOutput()");
    this.content = options.content;
    this.output = options.output;
    this.metadata = options.metadata;
    this.exitCode = options.exitCode;
    this.error = options.error;
    this.fidelity = options.fidelity;
    this.sameAs = options.sameAs;
  }
}

/** Returns a value as text for a model: strings unchanged, everything else as JSON. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
