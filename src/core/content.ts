/** The content of a tool's answer besides JSON: text, images and files, in the order the model shall see them. */
import { shareClass } from "./base/shared-class.ts";
import { checkKnownKeys, type OptionNames } from "./known-keys.ts";
import type { Fidelity } from "./fidelity.ts";
import type { JsonValue } from "./base/json.ts";

/** One part of what is said or answered: text, an image, a sound, a file or a link to one. */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mediaType: string; readonly data: string }
  | { readonly type: "audio"; readonly mediaType: string; readonly data: string }
  | {
      readonly type: "file";
      readonly uri: string;
      readonly mediaType?: string;
      readonly text?: string;
      readonly name?: string;
      /** Describes the file to a model that is shown its address in place of its bytes. */
      readonly description?: string;
      /** The size of the file, where it is known and the bytes are elsewhere. */
      readonly bytes?: number;
    };

/** The fields of a tool's output besides its value. */
export interface ToolOutputOptions {
  /** The content that the model sees; `data` of images and audio is base64. */
  readonly content?: readonly ContentPart[];
  /** The answer as JSON, checked against the output schema. */
  readonly output?: unknown;
  /** For programs only, never shown to a model. JSON; what is not is left out with a warning. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /**
   * Of a tool that runs programs: how its program ended. Any other than 0 makes the call an error, `execution_failed`, which keeps
   * output and content.
   */
  readonly exitCode?: number;
  /** Why the call failed, where it has an answer all the same: it ends `execution_failed`, and keeps output and content. */
  readonly error?: string;
  /** Of an engine that answers in place of a tool: set where this answer is closer to the tool's own, or further from it, than its others. */
  readonly fidelity?: Fidelity;
  /**
   * The call of this session whose result this answer refers to in place of repeating it, such as "unchanged, see the earlier result".
   * Where a model is not shown that result any more, it is shown its content here instead.
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

/** A handler's answer with content parts or metadata besides its JSON; return a bare value when JSON is enough. */
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

/** The text of a value as a model reads it: strings as they are, everything else as JSON. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
