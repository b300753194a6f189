/** The ids that a conversation has seen, so that what was made can be asked for. */
import { splitName } from "../../core/call.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";

const MAX_NAMES = 100;

export class KnownIds {
  /** By the name of a property: `ticket_id`. */
  readonly #ids = new Map<string, JsonValue>();
  /** What is called just `id`, by toolset. */
  readonly #bareIds = new Map<string, JsonValue>();

  /** Remembers the ids of an answer, or of the first item of a list. */
  learn({ name, status, output }: ToolResult): void {
    const record = isJsonArray(output) ? output[0] : output;
    if (status !== "ok" || !isJsonObject(record)) return;
    for (const [key, value] of Object.entries(record)) {
      if ((typeof value !== "string" && typeof value !== "number") || this.#ids.size >= MAX_NAMES) continue;
      if (key.toLowerCase() === "id") this.#learnBare(name, value);
      else if (IS_ID.test(key)) this.#ids.set(key, value);
    }
  }

  /** What an input of a tool of this toolset may take over. */
  givenTo(namespace: string): JsonObject {
    const bare = this.#bareIds.get(namespace);
    return { ...Object.fromEntries(this.#ids), ...(bare === undefined ? {} : { id: bare }) };
  }

  /** The id that `create_ticket` answers is a `ticket_id` elsewhere. */
  #learnBare(toolName: string, value: JsonValue): void {
    const { namespace = "", name } = splitName(toolName);
    this.#bareIds.set(namespace, value);
    const noun = /[A-Za-z]+$/u.exec(name)?.[0];
    if (noun !== undefined && noun !== name) this.#ids.set(`${noun.toLowerCase()}_id`, value);
  }
}

const IS_ID = /(?:_id|Id|ID)$/u;
