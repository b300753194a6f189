/** Lists a server's tools, within limits, and converts them to Haft tools without trusting their hints. */
import { checkName } from "../../core/call.ts";
import { type Effects, readOnly } from "../../core/resources/effects.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/ports.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { plural } from "../../core/base/wording.ts";
import type { McpConnection } from "./connection.ts";
import { restoreBounds } from "./long-numbers.ts";
import { parameterHeaders, sendsParameterHeaders } from "./parameter-headers.ts";
import { EffectOverrides, compileNamePattern } from "../effect-overrides.ts";
import { applyRenames } from "../rename-tools.ts";
import type { McpCommonOptions } from "./options.ts";

export interface ListOptions {
  /** The name of the server in messages. */
  readonly name: string;
  readonly trustAnnotations: boolean;
  readonly maxTools: number;
  readonly selection: ToolSelection;
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface ToolList {
  readonly tools: readonly Tool[];
  /** How long the server says that the list is valid, in milliseconds, not validated. Revision 2026-07-28. */
  readonly ttlMs: number | undefined;
}

const MAX_PAGES = 10_000;
const MAX_LIST_BYTES = 256 * 1024 * 1024;
/** Maximum length of a tool's description, in characters: more than any model accepts. */
const MAX_DESCRIPTION_LENGTH = 1024 * 1024;

/**
 * Requests every page of `tools/list`.
 *
 * A tool that is not an object with a usable name is left out with a warning. A tool with an unusable schema is kept: the registry disables it alone.
 *
 * @throws ToolError `unavailable` if the list exceeds the limits or repeats a cursor
 */
export async function listTools(connection: McpConnection, options: ListOptions): Promise<ToolList> {
  if (!connection.hasCapability("tools")) return { tools: [], ttlMs: undefined };
  const tools: Tool[] = [];
  const cursors = new Set<string>();
  const startBytes = connection.wire.receivedBytes;
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  do {
    const page = await connection.request("tools/list", cursor === undefined ? {} : { cursor }, { signal: options.signal });
    const listed = isJsonObject(page) ? page["tools"] : undefined;
    if (!Array.isArray(listed)) throw listError(options, `it answered tools/list without an array of tools`);
    for (const item of listed) {
      const tool = toTool(item, connection, options);
      if (tool !== undefined) tools.push(tool);
    }
    if (tools.length > options.maxTools) throw listError(options, `it lists more than ${plural(options.maxTools, "tool")}`);
    if (connection.wire.receivedBytes - startBytes > MAX_LIST_BYTES)
      throw listError(options, `its list of tools is larger than ${MAX_LIST_BYTES} bytes`);
    ttlMs = shorterTtl(ttlMs, isJsonObject(page) ? page["ttlMs"] : undefined);
    cursor = nextCursor(page);
    if (cursor !== undefined && cursors.has(cursor))
      throw listError(options, "its list of tools runs in a circle: the same cursor came twice");
    if (cursor !== undefined) cursors.add(cursor);
    if (cursors.size >= MAX_PAGES) throw listError(options, `its list of tools has more than ${MAX_PAGES} pages`);
  } while (cursor !== undefined);
  return { tools: selectTools(tools, options.selection, options), ttlMs };
}

function shorterTtl(known: number | undefined, ttlMs: unknown): number | undefined {
  if (typeof ttlMs !== "number") return known;
  return known === undefined ? ttlMs : Math.min(known, ttlMs);
}

function nextCursor(page: unknown): string | undefined {
  const cursor = isJsonObject(page) ? page["nextCursor"] : undefined;
  return typeof cursor === "string" && cursor !== "" ? cursor : undefined;
}

function listError(options: ListOptions, reason: string): ToolError {
  return new ToolError("unavailable", `MCP server "${options.name}" could not be opened: ${reason}.`);
}

function toTool(item: unknown, connection: McpConnection, options: ListOptions): Tool | undefined {
  if (!isJsonObject(item)) return skipTool(options, "a tool that is not an object.");
  const { name, title, description, annotations } = item;
  const inputSchema = restoreBounds(item["inputSchema"]);
  const outputSchema = restoreBounds(item["outputSchema"]);
  try {
    checkName(name, "tool");
  } catch (error: unknown) {
    return skipTool(options, `a tool without a usable name: ${describeThrown(error)}`);
  }
  if (typeof description === "string" && description.length > MAX_DESCRIPTION_LENGTH)
    return skipTool(options, `${JSON.stringify(name)} with a description of more than ${MAX_DESCRIPTION_LENGTH} characters.`);
  const illegal = sendsParameterHeaders(connection) ? parameterHeaders(inputSchema) : [];
  if (typeof illegal === "string") return skipTool(options, `${JSON.stringify(name)} with an illegal header: ${illegal}.`);
  const hints = isJsonObject(annotations) ? annotations : {};
  const shownTitle = typeof title === "string" ? title : hints["title"];
  const effects = effectsOf(hints, options.trustAnnotations);
  return {
    name,
    ...(typeof shownTitle === "string" ? { title: shownTitle } : {}),
    description: typeof description === "string" ? description : "",
    inputSchema: inputSchema as JsonSchema, // untrusted: the registry checks every schema
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as JsonSchema }),
    ...(effects === undefined ? {} : { effects }),
    metadata: { server: connection.origin, annotations: hints, ...taskSupport(item["execution"]) },
  };
}

/** The task support that the tool declares: revision 2025-11-25. */
function taskSupport(execution: unknown): { readonly taskSupport?: "optional" | "required" } {
  const support = isJsonObject(execution) ? execution["taskSupport"] : undefined;
  return support === "optional" || support === "required" ? { taskSupport: support } : {};
}

function skipTool(options: ListOptions, what: string): undefined {
  options.log.warn(`MCP server "${options.name}" lists ${what} It is left out.`);
}

/**
 * The effects from a server's hints. Unless they are trusted, hints can only add caution.
 *
 * MCP treats a tool without hints as destructive and open-world. Here such a tool is undeclared: it runs alone and is not repeated, but only an
 * explicit hint makes it ask for approval.
 */
function effectsOf(hints: JsonObject, trusted: boolean): Effects | undefined {
  const destructive = hints["destructiveHint"] === true;
  const external = hints["openWorldHint"] === true;
  if (trusted && hints["readOnlyHint"] === true) return { ...readOnly(), ...(external ? { external } : {}) };
  const idempotent = trusted && hints["idempotentHint"] === true;
  if (!destructive && !external && !idempotent) return undefined;
  return { ...(destructive ? { destructive } : {}), ...(external ? { external } : {}), ...(idempotent ? { idempotent } : {}) };
}

type ToolSelection = Pick<McpCommonOptions, "include" | "exclude" | "effects" | "rename">;

/** The included tools, in the server's order and under their new names. A pattern without a match is warned of, or refused in `rename`. */
function selectTools(
  tools: readonly Tool[],
  selection: ToolSelection,
  { name, log }: { readonly name: string; readonly log: Log },
): readonly Tool[] {
  const { include, exclude, effects, rename } = selection;
  if (include === undefined && exclude === undefined && effects === undefined && rename === undefined) return tools;
  const included = include === undefined ? undefined : new NamePatterns("include", include);
  const excluded = new NamePatterns("exclude", exclude ?? []);
  const overrides = new EffectOverrides(effects ?? {});
  const selected = tools.filter((tool) => {
    const isIncluded = included === undefined || included.matches(tool.name);
    return !excluded.matches(tool.name) && isIncluded;
  });
  const chosen = selected.map((tool) => overrides.apply(tool));
  for (const warning of [...(included?.warnings() ?? []), ...excluded.warnings(), ...overrides.warnings()])
    log.warn(`MCP server "${name}": ${warning}`);
  return applyRenames(chosen, rename, { source: `MCP server "${name}"` });
}

class NamePatterns {
  readonly #key: string;
  readonly #patterns: readonly { readonly text: string; readonly matches: (name: string) => boolean }[];
  readonly #used = new Set<string>();

  constructor(key: string, patterns: readonly string[]) {
    this.#key = key;
    this.#patterns = patterns.map((text) => ({ text, matches: compileNamePattern(text) }));
  }

  matches(name: string): boolean {
    const fitting = this.#patterns.filter((pattern) => pattern.matches(name));
    for (const { text } of fitting) this.#used.add(text);
    return fitting.length > 0;
  }

  warnings(): readonly string[] {
    const unused = this.#patterns.filter(({ text }) => !this.#used.has(text));
    return unused.map(({ text }) => `${this.#key} has ${JSON.stringify(text)}, which matches no tool.`);
  }
}
