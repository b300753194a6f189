/** One step of an interaction, assembled from the events of a stream. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { joinArguments } from "../join-arguments.ts";

export class InteractionStep {
  readonly type: string;
  /** Whether the step was reported as complete. */
  stopped = false;
  #fields: JsonObject;
  readonly #content: JsonObject[];
  readonly #summary: JsonObject[];
  readonly #arguments: string[] = [];

  constructor(step: JsonObject) {
    const { content, summary, ...fields } = step;
    this.type = typeof step["type"] === "string" ? step["type"] : "";
    this.#fields = fields;
    this.#content = isJsonArray(content) ? content.filter(isJsonObject) : [];
    this.#summary = isJsonArray(summary) ? summary.filter(isJsonObject) : [];
  }

  field(name: string): JsonValue | undefined {
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  get content(): readonly JsonObject[] {
    return this.#content;
  }

  get summary(): readonly JsonObject[] {
    return this.#summary;
  }

  addText(text: string): void {
    const last = this.#content.at(-1);
    if (last?.["type"] === "text") this.#content[this.#content.length - 1] = { ...last, text: `${String(last["text"] ?? "")}${text}` };
    else this.#content.push({ type: "text", text });
  }

  /** Adds annotations to the last text. */
  addAnnotations(annotations: readonly JsonValue[]): void {
    const last = this.#content.at(-1);
    if (last?.["type"] !== "text") return;
    const known = isJsonArray(last["annotations"]) ? last["annotations"] : [];
    this.#content[this.#content.length - 1] = { ...last, annotations: [...known, ...annotations] };
  }

  addContent(content: JsonObject): void {
    this.#content.push(content);
  }

  addSummary(content: JsonObject): void {
    this.#summary.push(content);
  }

  addArguments(text: string): void {
    this.#arguments.push(text);
  }

  /** Merges the fields of a delta into the known ones, overwriting them. */
  mergeFields(fields: JsonObject): void {
    this.#fields = { ...this.#fields, ...fields };
  }

  /** The arguments: the joined pieces as text, or the value that was sent at once. */
  get input(): JsonValue {
    const { text } = joinArguments(this.#arguments);
    return text === "" ? (this.field("arguments") ?? {}) : text;
  }

  /** Returns the step as it is in `steps`. @param input the parsed arguments */
  toStep(input?: JsonObject): JsonObject {
    return {
      ...this.#fields,
      ...(input === undefined ? {} : { arguments: input }),
      ...(this.#content.length === 0 ? {} : { content: this.#content }),
      ...(this.#summary.length === 0 ? {} : { summary: this.#summary }),
    };
  }

  /** Whether the step has more than Haft's types can express. */
  get needsNative(): boolean {
    if (this.type === "model_output") return false;
    const signature = this.field("signature");
    return this.type !== "function_call" || (typeof signature === "string" && signature !== "");
  }
}
