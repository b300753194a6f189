/** Recognizes ids by their place in the address of an operation: `{order}` of `/orders/{order}` is the id of an order. */
import { getOrAdd } from "../../core/base/get-or-add.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { Tool } from "../../core/tool.ts";
import { normalizeName, toSingular } from "../../schema/example/name-words.ts";

const PLACE = /\/([^/{}]+)\/\{([^/{}]+)\}/gu;
const MAX_PATH_LENGTH = 1_000;
const NO_NAMES: ReadonlySet<string> = new Set();
const namesByTool = new WeakMap<Tool, ReadonlySet<string>>();

/** Returns the inputs in the path of an HTTP operation, as `metadata.http` describes it, that are named like the collection before them. */
function pathIdInputs(tool: Tool): ReadonlySet<string> {
  return getOrAdd(namesByTool, tool, () => {
    const http = tool.metadata?.["http"];
    const path = typeof http === "object" && http !== null && "path" in http ? http.path : undefined;
    if (typeof path !== "string" || path.length > MAX_PATH_LENGTH) return NO_NAMES;
    const names = [...path.matchAll(PLACE)].flatMap(([, collection = "", name = ""]) => {
      const noun = toSingular(normalizeName(collection));
      return noun !== normalizeName(collection) && noun === normalizeName(name) ? [name] : [];
    });
    return new Set(names);
  });
}

/** Returns the name that says what an input is: `order_id` for the `order` of `/orders/{order}`, and the name itself for every other input. */
export function idNameOfInput(tool: Tool, name: string): string {
  return pathIdInputs(tool).has(name) ? `${name}_id` : name;
}

/** Renames ids in the path to `order_id`. Values that are words keep their names: cities, for example, may be addressed by their names. */
export function withIdNames(tool: Tool, input: JsonObject): JsonObject {
  if (pathIdInputs(tool).size === 0) return input;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [isIdLike(value) ? idNameOfInput(tool, name) : name, value]));
}

function isIdLike(value: JsonValue): boolean {
  return typeof value === "number" || (typeof value === "string" && /\d/u.test(value) && !/\s/u.test(value));
}
