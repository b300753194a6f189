/** Whether an engine reaches the server that an entry brings with it. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import type { EngineConfig } from "./engine-config.ts";
import type { ToolsetConfig } from "./toolset-config.ts";

/** An entry with a server of its own: its calls go there, or to an engine that it names and that answers in place of servers. */
export type ServerToolset = Extract<ToolsetConfig, { readonly type: "mcp" | "openapi" }>;

/**
 * - `same`: the engine reaches exactly this server, so that an entry may have it;
 * - `adapts`: the engine is made once more, for the server of the entry;
 * - `other`: the engine reaches another server, or one of another kind;
 * - `stand-in`: the engine answers in place of servers, such as `lm`;
 * - `none`: the engine leaves calls to the toolset, as `local` and `multi` do.
 */
export type ServerMatch = "same" | "adapts" | "other" | "stand-in" | "none";

export function bringsServer(toolset: ToolsetConfig): toolset is ServerToolset {
  return toolset.type === "mcp" || toolset.type === "openapi";
}

export function matchServer(engine: EngineConfig, toolset: ServerToolset): ServerMatch {
  switch (engine.type) {
    case "local":
    case "multi":
      return "none";
    case "mcp": {
      if (toolset.type !== "mcp") return "other";
      if (engine.server === undefined) return "adapts";
      if (addressOf(engine.server) !== addressOf(toolset)) return "other";
      return addsNothing(toolset, { ...engine.server, ...engine }) ? "same" : "adapts";
    }
    case "rest": {
      if (toolset.type !== "openapi") return "other";
      const { document, baseUrl } = engine.service;
      return differ(document, toolset.document) || differ(baseUrl, toolset.baseUrl) ? "other" : "adapts";
    }
    default:
      return "stand-in";
  }
}

function differ(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && normalized(one) !== normalized(other);
}

function addressOf(server: { readonly url?: string; readonly command?: string; readonly args?: readonly string[] }): string {
  const { url, command, args } = server;
  return url === undefined ? JSON.stringify([command, args]) : JSON.stringify(normalized(url));
}

/** `http://localhost:8080` and `http://localhost:8080/` are one address. */
function normalized(address: string): string {
  return URL.canParse(address) ? new URL(address).href : address;
}

/** The settings that decide how a server is reached, besides its address. */
const CONNECTION = [
  "env",
  "cwd",
  "headers",
  "auth",
  "transport",
  "protocol",
  "allowPrivate",
  "verifyTls",
  "ca",
  "trustAnnotations",
  "maxTools",
  "effects",
  "include",
  "exclude",
  "rename",
  "isolation",
  "start",
  "openTimeoutMs",
];

/** Whether the engine reaches the server in the way that the entry asks for, or the entry asks for none. */
function addsNothing(toolset: object, engine: object): boolean {
  return CONNECTION.every((key) => {
    const wanted: unknown = Reflect.get(toolset, key);
    return saysNothing(wanted) || textOf(wanted) === textOf(Reflect.get(engine, key));
  });
}

/** A key that was left out, or says what would hold without it. */
export function saysNothing(value: unknown): boolean {
  return value === undefined || value === false || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function textOf(value: unknown): string {
  return value === undefined ? "" : canonicalJson(copyJson(value).value);
}
