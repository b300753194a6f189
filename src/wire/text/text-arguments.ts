/** Arguments of which a format delivers the text, one by one. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { jsonMembers } from "./literal.ts";
import type { ReaderContext } from "./text-grammar.ts";
import { argumentNames, guessValue, propertySchema, parseLooseValue, toTypedValue } from "./typed-value.ts";

type ArgumentValue = { readonly value: JsonValue } | { readonly text: string };

/** Arguments as they come, typed by the tool's schema. */
export class TextArguments {
  readonly #context: ReaderContext;
  readonly #name: string;
  readonly #untyped: (text: string) => JsonValue;
  /** Text is typed when all of it is there. */
  readonly #values = new Map<string, ArgumentValue>();
  /** The values behind a key that was there already. */
  readonly #repeated: [key: string, written: ArgumentValue][] = [];
  /** The last argument has no end of its own before that of the call, or the call has none: something may be missing. */
  isCutShort = false;

  /** @param untyped how text is read if the tool is not known */
  constructor(context: ReaderContext, name: string, untyped: (text: string) => JsonValue = guessValue) {
    this.#context = context;
    this.#name = name;
    this.#untyped = untyped;
  }

  set(key: string, text: string): void {
    this.#add(key, { text });
  }

  setValue(key: string, value: JsonValue): void {
    this.#add(key, { value });
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  /** Returns only arguments of the schema; undefined if a required one is missing. */
  toSchemaInput(): JsonValue | undefined {
    const { schema } = this;
    if (schema === undefined) return this.toInput();
    const broken = this.#unwrap(schema);
    if (broken !== undefined) return broken;
    const { all, required } = argumentNames(schema);
    const unknown = [...this.#values.keys()].filter((key) => !all.includes(key));
    if (!required.every((key) => this.#values.has(key))) return undefined;
    for (const key of unknown) this.#values.delete(key);
    if (unknown.length > 0) this.#context.warn(ignoredArgumentsWarning(this.#name, unknown));
    return this.#toJson(schema, ([key]) => all.includes(key));
  }

  /**
   * Returns JSON text if an argument occurs twice, which the runtime refuses; and unterminated JSON text if the end is missing, which the runtime refuses for
   * tools that write.
   */
  toInput(): JsonValue {
    const { schema } = this;
    return (schema === undefined ? undefined : this.#unwrap(schema)) ?? this.#toJson(schema, () => true);
  }

  get schema(): JsonObject | undefined {
    const schema = this.#context.findTool(this.#name)?.inputSchema;
    return isJsonObject(schema) ? schema : undefined;
  }

  #add(key: string, argument: ArgumentValue): void {
    if (this.#values.has(key)) this.#repeated.push([key, argument]);
    else this.#values.set(key, argument);
  }

  #toJson(schema: JsonObject | undefined, keep: (member: readonly [string, ArgumentValue]) => boolean): JsonValue {
    const members = [...this.#values, ...this.#repeated]
      .filter(keep)
      .map(([key, written]) => [key, this.#toTypedValue(key, written, schema)] as const);
    const mayRun = this.#context.acceptsAnyTool || this.#context.hasTool(this.#name);
    const isCutShort = this.isCutShort && mayRun;
    if (members.length === this.#values.size && !isCutShort) return Object.fromEntries(members);
    const text = jsonMembers(members.map(([key, value]) => [key, JSON.stringify(value)]));
    return isCutShort ? text.slice(0, -1) : text;
  }

  /** Reads arguments from an argument that the tool does not have and that contains them as JSON; returns that JSON if it cannot be read. */
  #unwrap(schema: JsonObject): string | undefined {
    const { all } = argumentNames(schema);
    for (const [key, written] of this.#values) {
      if (!WRAPPERS.has(key) || all.length === 0 || all.includes(key)) continue;
      const value =
        "value" in written ? written.value : isBraced(written.text) ? (parseLooseValue(written.text) ?? written.text) : undefined;
      if (typeof value === "string" && "text" in written) return value;
      if (!isJsonObject(value)) continue;
      this.#values.delete(key);
      for (const [name, item] of Object.entries(value)) this.#add(name, { value: item });
      return undefined;
    }
    return undefined;
  }

  #toTypedValue(key: string, argument: ArgumentValue, schema: JsonObject | undefined): JsonValue {
    if ("value" in argument) return argument.value;
    if (schema === undefined) return this.#untyped(argument.text);
    return toTypedValue(argument.text, propertySchema(schema, key), schema);
  }
}

const WRAPPERS: ReadonlySet<string> = new Set(["arguments", "parameters"]);

function isBraced(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith("{") && trimmed.endsWith("}");
}

function ignoredArgumentsWarning(tool: string, keys: readonly string[]): string {
  return `The call of ${JSON.stringify(tool)} has arguments that the tool does not have, which are left out: ${keys.join(", ")}.`;
}
