/** The toolset `memory`: a model searches earlier messages and results. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { SessionEvent } from "../core/event.ts";
import type { Store } from "../core/store/store.ts";
import type { Toolset } from "../core/toolset.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { markNoCircuit } from "../core/answers/no-circuit.ts";
import { defineTool } from "../registry/define-tool.ts";
import { storedEvents } from "../session/read-events.ts";
import { MAX_TEXT_LENGTH, readMemories, type Memory } from "./memory/read-memories.ts";
import { rankMemories, type Embed, type SearchMode } from "./memory/rank-memories.ts";
import { runtimeSessionOf } from "./runtime-session-of.ts";

/** Options of `memoryToolset`: which sessions are searched, and how. */
export interface MemoryOptions {
  /** The namespace of the tool. @default "memory" */
  readonly name?: string;
  /** The store whose sessions are searched in addition to the caller's own. @default only the caller's own session is searched */
  readonly store?: Store;
  /** Whether the caller may search a session of the store; called once for each session. @default all may be searched */
  readonly allows?: (sessionId: string, context: ToolContext) => boolean;
  /** Turns texts into vectors of one length, for search by meaning. @default search by words only */
  readonly embed?: Embed;
}

const OPTIONS: OptionNames<MemoryOptions> = { name: true, store: "object", allows: "function", embed: "function" };
const MODES = ["auto", "keyword", "semantic", "hybrid"] as const satisfies readonly SearchMode[];
/** Maximum number of sessions of the store that are searched; the most recently used ones. */
const MAX_SESSIONS = 200;
const DEFAULT_COUNT = 5;
/** Maximum number of characters of all sessions together. Indexing is synchronous and takes about 50 ms per million characters. */
const MAX_CHARS = 16_000_000;

interface SearchInput {
  readonly query: string;
  readonly mode?: SearchMode;
  readonly k?: number;
  readonly session?: string;
}

/**
 * Returns a toolset with the tool `search_memory`, which finds messages and results of earlier turns by their words (BM25), with `embed` also by
 * their meaning, or by both (reciprocal rank fusion). It reads the session's log, so it also finds entries that the model is no longer shown. Calls
 * of voided messages and of rolled-back batches are not found.
 *
 * Searches the last 20,000 entries of a session and the 200 most recently used sessions of the store; at most 8,000 characters of each entry and 16
 * million in all, those of the caller's own session first. In a larger store, the input `session` selects one to search.
 *
 * @throws ToolError `invalid_argument` for unknown options
 */
export function memoryToolset(options: MemoryOptions = {}): Toolset {
  checkKnownKeys(options, OPTIONS, "memoryToolset()");
  const { name = "memory" } = options;
  return { name, description: "Search in earlier turns.", tools: [searchTool(options)] };
}

function searchTool(options: MemoryOptions) {
  const { store, embed } = options;
  return defineTool({
    name: "search_memory",
    description: `Searches what was said and done earlier in this session${store === undefined ? "" : " and in other sessions"}. Returns the entries that fit best.`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 2_000 },
        ...(embed === undefined ? {} : { mode: { enum: [...MODES], description: "keyword, semantic, or both (hybrid, auto)." } }),
        k: { type: "integer", minimum: 1, maximum: 50, description: `How many entries; ${DEFAULT_COUNT} unless given.` },
        ...(store === undefined ? {} : { session: { type: "string", maxLength: 200, description: "Only this session." } }),
      },
      required: ["query"],
      additionalProperties: false,
    } as const,
    effects: { reads: [], writes: [], idempotent: true },
    mode: "direct",
    execute: markNoCircuit(async (input: unknown, context: ToolContext) => {
      const { query, mode = "auto", k = DEFAULT_COUNT, session } = input as SearchInput; // the schema, and so its keys, depends on the options
      const memories = await collectMemories(options, session, context);
      const found = await rankMemories(memories, { query, mode, limit: k, embed, signal: context.signal });
      if (found.length === 0) return `Nothing was found for ${JSON.stringify(query)}.`;
      return found.map(entryText).join("\n\n");
    }),
  });
}

async function collectMemories(
  { store, allows }: MemoryOptions,
  only: string | undefined,
  context: ToolContext,
): Promise<readonly Memory[]> {
  const own = runtimeSessionOf(context);
  const memories: Memory[] = [];
  let left = MAX_CHARS;
  const search = async (id: string, events: AsyncIterable<SessionEvent>): Promise<void> => {
    for (const memory of await readMemories({ id, events, maxChars: left })) {
      memories.push(memory);
      left -= memory.text.length;
    }
  };
  if (only === undefined || only === own.id) await search(own.id, own.events());
  if (store === undefined) return memories;
  if (only === own.id) return memories;
  const latest = (await store.list({ limit: MAX_SESSIONS })).map(({ sessionId }) => sessionId);
  const isOlder = only !== undefined && !latest.includes(only) && (await isStored(store, only));
  const others = isOlder ? [...latest, only] : latest;
  const isAllowed = (id: string): boolean => {
    const answer: unknown = allows === undefined || allows(id, context);
    return answer === true; // a promise, from an untyped caller, does not count as true
  };
  const allowed = others.filter((id) => id !== own.id && isAllowed(id));
  if (only !== undefined && !allowed.includes(only)) throw unknownSessionError(only, allowed);
  for (const id of allowed) {
    if (only !== undefined && only !== id) continue;
    if (left < MAX_TEXT_LENGTH) break;
    context.signal.throwIfAborted();
    await search(id, eventsBeforeDamage(storedEvents(store, id)));
  }
  return memories;
}

async function isStored(store: Store, id: string): Promise<boolean> {
  try {
    await store.read(id, { limit: 1 });
    return true;
  } catch (thrown: unknown) {
    const { code } = ToolError.fromUnknown(thrown);
    if (code !== "corrupt_record" && code !== "not_found") throw thrown;
    return code === "corrupt_record";
  }
}

/** Yields the events of a log before any damage; none if the session was removed meanwhile. */
async function* eventsBeforeDamage(events: AsyncIterable<SessionEvent>): AsyncGenerator<SessionEvent> {
  try {
    yield* events;
  } catch (thrown: unknown) {
    const { code } = ToolError.fromUnknown(thrown);
    if (code !== "corrupt_record" && code !== "not_found") throw thrown;
  }
}

function unknownSessionError(id: string, ids: readonly string[]): ToolError {
  const hint = didYouMean(id, ids);
  return new ToolError("not_found", `There is no session ${JSON.stringify(id)} to search.`, {
    outcome: "not_started",
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Formats an entry: `[2026-11-26T09:00:00.000Z user, session s1] …`. */
function entryText({ at, who, sessionId, text }: Memory): string {
  return `[${new Date(at).toISOString()} ${who}, session ${sessionId}] ${text}`;
}
