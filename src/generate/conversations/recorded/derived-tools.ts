/** Derives definitions of tools that are known only from their recorded calls. */
import { getOrAdd } from "../../../core/base/get-or-add.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { splitName } from "../../../core/call.ts";
import type { ModelMessage } from "../../../core/message.ts";
import type { ModelTool } from "../../../core/model.ts";
import type { ToolResult } from "../../../core/result.ts";
import { capitalize } from "../../../core/base/wording.ts";
import { UNKNOWN_TOOL_CODES } from "../../../engine/replay.ts";
import { nameWords } from "../../../schema/example/name-words.ts";
import { typeName } from "../../../schema/schema-problem.ts";

const MAX_DEPTH = 4;
/** Objects with more properties, or with data as their names, are described as maps, without properties. */
const MAX_PROPERTIES = 40;
const PROPERTY = /^(?!.*\d{4})[A-Za-z_$][\w$.-]{0,63}$/u;

/** Collects the values at one position, and derives their schema. */
class SeenValues {
  readonly #types = new Set<string>();
  readonly #properties = new Map<string, SeenValues>();
  #items: SeenValues | undefined;
  #objects = 0;
  #isMap = false;
  #seen = 0;

  add(value: JsonValue, depth = 0): void {
    this.#seen++;
    this.#types.add(typeName(value));
    if (depth >= MAX_DEPTH) this.#isMap = true;
    else if (isJsonArray(value)) {
      this.#items ??= new SeenValues();
      for (const item of value) this.#items.add(item, depth + 1);
    } else if (isJsonObject(value)) this.#addObject(value, depth);
  }

  get schema(): JsonObject {
    const types = [...this.#types].filter((type) => type !== "integer" || !this.#types.has("number"));
    const type = types.length === 1 ? (types[0] ?? "object") : types;
    const items = this.#items === undefined || this.#items.#seen === 0 ? {} : { items: this.#items.schema };
    return { ...(types.length === 0 ? {} : { type }), ...items, ...this.#objectSchema() };
  }

  #addObject(value: JsonObject, depth: number): void {
    this.#objects++;
    for (const [name, item] of Object.entries(value)) {
      if (!PROPERTY.test(name) || (this.#properties.size >= MAX_PROPERTIES && !this.#properties.has(name))) this.#isMap = true;
      if (this.#isMap) return;
      getOrAdd(this.#properties, name, () => new SeenValues()).add(item, depth + 1);
    }
  }

  #objectSchema(): JsonObject {
    if (this.#objects === 0 || this.#isMap) return {};
    const properties = Object.fromEntries([...this.#properties].map(([name, seen]) => [name, seen.schema]));
    const required = [...this.#properties].flatMap(([name, seen]) => (seen.#seen === this.#objects ? [name] : []));
    return { properties, ...(required.length === 0 ? {} : { required }) };
  }
}

/** Whether the call was of a name that no tool had. */
function isUnknownTool({ attempts, error }: ToolResult): boolean {
  return attempts === 0 && error !== undefined && UNKNOWN_TOOL_CODES.has(error.code);
}

export class DerivedTools {
  readonly #inputs = new Map<string, SeenValues>();
  #tools: ReadonlyMap<string, ModelTool> | undefined;

  addCalls(messages: readonly ModelMessage[]): void {
    const unknownCalls = new Set(
      messages.flatMap((message) => (message.role === "result" && isUnknownTool(message.result) ? [message.callId] : [])),
    );
    for (const message of messages) {
      if (message.role !== "call" || unknownCalls.has(message.callId)) continue;
      const { name } = message.call;
      const input = (message.call.input ?? {}) as JsonValue; // recorded calls are JSON
      const seen = getOrAdd(this.#inputs, name, () => new SeenValues());
      if (isJsonObject(input)) seen.add(input);
    }
  }

  get names(): readonly string[] {
    return [...this.#inputs.keys()];
  }

  /** Returns the definition of a tool, derived from all its calls; undefined if it was never called. */
  get(name: string): ModelTool | undefined {
    this.#tools ??= new Map(
      [...this.#inputs].map(([each, seen]) => [
        each,
        { name: each, description: describeTool(each), inputSchema: { type: "object", ...seen.schema } },
      ]),
    );
    return this.#tools.get(name);
  }
}

/** Returns a sentence such as `Get order.` for `shop::get_order`. */
function describeTool(qualifiedName: string): string {
  const text = nameWords(splitName(qualifiedName).name).join(" ");
  return text === "" ? "A tool." : `${capitalize(text)}.`;
}
