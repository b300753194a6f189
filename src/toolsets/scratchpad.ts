/** The toolset `scratchpad`: short notes by key, shared by all tools of a session. @packageDocumentation */
import type { JsonValue } from "../core/base/json.ts";
import { findNearNames } from "../core/base/near-names.ts";
import { OWN_NAMESPACE } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Toolset } from "../core/toolset.ts";
import { valueText } from "../core/content.ts";
import { defineTool } from "../registry/define-tool.ts";
import { stateNamed } from "../call/context/tool-context.ts";
import { pathLine } from "./files/path-list.ts";

/** The entries of a session's scratchpad. */
export interface Scratchpad {
  get(key: string): JsonValue | undefined;
  /** @throws ToolError `limit_exceeded` for more than 500 keys; `invalid_argument` for a key that is empty, or longer than 200 characters */
  set(key: string, value: JsonValue): void;
  /** Returns false if there was no such key. */
  delete(key: string): boolean;
  /** The keys in the order in which they were first set, without reserved ones. */
  keys(): readonly string[];
  /** Removes all but reserved keys. */
  clear(): void;
}

const MAX_KEYS = 500;
const MAX_KEY_LENGTH = 200;
const MAX_VALUE_LENGTH = 65_536;
/** The name under which the session keeps the scratchpad. No toolset can have a name with "::". */
const OWNER = `${OWN_NAMESPACE}::scratchpad`;
/** State key of the list of keys. Each value has a state key of its own, so that a change costs the same however many there are. */
const KEYS = "keys";
const valueKey = (key: string): string => `value ${key}`;

/**
 * Returns the scratchpad of the session that a handler runs in. All tools share it, and it is kept, forked and rolled back with the session's state.
 *
 * Keys of the form `__name__` are reserved for programs: the tool `scratchpad` neither lists, reads nor changes them.
 *
 * @throws ToolError `unavailable` for a context that was not made by a runtime
 */
export function scratchpadOf(context: ToolContext): Scratchpad {
  const state = stateNamed(context, OWNER);
  const all = (): readonly string[] => {
    const keys = state.get(KEYS);
    return Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [];
  };
  const remove = (keys: ReadonlySet<string>): void => {
    state.update(KEYS, () => all().filter((key) => !keys.has(key)));
    for (const key of keys) state.update(valueKey(key), () => undefined);
  };
  return {
    get: (key) => state.get(valueKey(key)),
    set: (key, value) => {
      checkKey(key);
      if (state.get(valueKey(key)) === undefined) state.update(KEYS, () => withKey(all(), key));
      state.update(valueKey(key), () => value);
    },
    delete: (key) => {
      const isThere = state.get(valueKey(key)) !== undefined;
      if (isThere) remove(new Set([key]));
      return isThere;
    },
    keys: () => all().filter((key) => !isReserved(key)),
    clear: () => remove(new Set(all().filter((key) => !isReserved(key)))),
  };
}

interface ScratchpadInput {
  readonly action: "get" | "set" | "delete" | "list" | "clear";
  readonly key?: string;
  readonly value?: string;
}

/** The actions that take a key. */
const WITH_KEY: ReadonlySet<string> = new Set(["get", "set", "delete"]);

/**
 * Returns a toolset with the tool `scratchpad`, with which a model keeps notes for itself within a session: it sets, gets, lists and deletes short
 * texts by key. Handlers share them through `scratchpadOf`, and each change is a `state-change` event.
 *
 * @throws ToolError `invalid_argument` for unknown options
 */
export function scratchpadToolset(options: { readonly name?: string } = {}): Toolset {
  checkKnownKeys(options, { name: true }, "scratchpadToolset()");
  const { name = "scratchpad" } = options;
  return { name, description: "Notes of this session.", tools: [scratchpadTool()] };
}

function scratchpadTool() {
  return defineTool({
    name: "scratchpad",
    description: "Keeps short notes for this session by key: set, get, delete, list or clear them.",
    inputSchema: {
      type: "object",
      properties: {
        action: { enum: ["get", "set", "delete", "list", "clear"] },
        key: { type: "string", minLength: 1, maxLength: MAX_KEY_LENGTH, description: "For get, set and delete." },
        value: { type: "string", maxLength: MAX_VALUE_LENGTH, description: "For set." },
      },
      required: ["action"],
      additionalProperties: false,
    },
    effects: {
      reads: ({ action, key }: ScratchpadInput) => (action === "get" ? [resourceKey(key)] : action === "list" ? [resourceKey()] : []),
      writes: ({ action, key }: ScratchpadInput) =>
        action === "set" || action === "delete" ? [resourceKey(key)] : action === "clear" ? [resourceKey()] : [],
      idempotent: true,
    },
    validate: findProblems,
    mode: "direct",
    execute: (input: ScratchpadInput, context: ToolContext) => runAction(scratchpadOf(context), input),
  });
}

function resourceKey(key?: string): string {
  return key === undefined ? "session:scratchpad" : `session:scratchpad/${encodeURIComponent(key.toWellFormed())}`;
}

function findProblems({ action, key, value }: ScratchpadInput): readonly string[] {
  const problems: string[] = [];
  if (WITH_KEY.has(action) && key === undefined) problems.push(`"key" is missing: ${action} needs one.`);
  if (action === "set" && value === undefined) problems.push('"value" is missing: set needs one.');
  if (key !== undefined && isReserved(key)) problems.push(`The key ${JSON.stringify(key)} is reserved. Use one without "__" around it.`);
  return problems;
}

function runAction(pad: Scratchpad, { action, key = "", value = "" }: ScratchpadInput): string {
  if (action === "set") {
    pad.set(key, value);
    return `Set ${JSON.stringify(key)}.`;
  }
  if (action === "get") return readEntry(pad, key);
  if (action === "delete") return pad.delete(key) ? `Deleted ${JSON.stringify(key)}.` : missingKeyText(pad, key);
  if (action === "clear") {
    pad.clear();
    return "Cleared.";
  }
  const keys = pad.keys();
  return keys.length === 0 ? "The scratchpad is empty." : keys.map(pathLine).join("\n");
}

function readEntry(pad: Scratchpad, key: string): string {
  const value = pad.get(key);
  return value === undefined ? missingKeyText(pad, key) : valueText(value);
}

/** A missing key is an answer, not an error: a model may ask before it sets one. */
function missingKeyText(pad: Scratchpad, key: string): string {
  const [near] = findNearNames(key, pad.keys(), 1);
  return `There is no key ${JSON.stringify(key)}.${near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`}`;
}

function checkKey(key: string): void {
  if (typeof key === "string" && key !== "" && key.length <= MAX_KEY_LENGTH) return;
  throw new ToolError("invalid_argument", `The key of a scratchpad entry is a string of 1 to ${MAX_KEY_LENGTH} characters.`);
}

function withKey(keys: readonly string[], key: string): readonly string[] {
  if (keys.length < MAX_KEYS) return [...keys, key];
  throw new ToolError("limit_exceeded", `The scratchpad has ${MAX_KEYS} keys already.`, { hint: "Delete some first." });
}

function isReserved(key: string): boolean {
  return key.length > 4 && key.startsWith("__") && key.endsWith("__");
}
