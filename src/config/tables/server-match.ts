/** Whether an engine reaches the server of an entry. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import type { EngineConfig } from "./engine-config.ts";
import type { ToolsetConfig } from "./toolset-config.ts";

/** A toolset with a server: its calls go there, or to an engine that it names to answer instead. */
export type ServerToolset = Extract<ToolsetConfig, { readonly type: "mcp" | "openapi" }>;

/**
 * - `same`: the engine reaches exactly this server, so the entry can use it;
 * - `adapts`: a second engine is made, for the server of the entry;
 * - `other`: the engine reaches another server, or another kind of server;
 * - `stand-in`: the engine answers in place of servers, such as `lm`;
 * - `none`: the toolset answers calls itself, as with `local` and `multi`.
 */
export type ServerMatch = "same" | "adapts" | "other" | "stand-in" | "none";

export function hasServer(toolset: ToolsetConfig): toolset is ServerToolset {
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
      return hasSameConnection(toolset, { ...engine.server, ...engine }) ? "same" : "adapts";
    }
    case "rest": {
      if (toolset.type !== "openapi") return "other";
      const { document, baseUrl } = engine.service;
      return areDifferent(document, toolset.document) || areDifferent(baseUrl, toolset.baseUrl) ? "other" : "adapts";
    }
    default:
      return "stand-in";
  }
}

function areDifferent(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && normalizeAddress(one) !== normalizeAddress(other);
}

function addressOf(server: { readonly url?: string; readonly command?: string; readonly args?: readonly string[] }): string {
  const { url, command, args } = server;
  return url === undefined ? JSON.stringify([command, args]) : JSON.stringify(normalizeAddress(url));
}

/** Makes `http://localhost:8080` and `http://localhost:8080/` equal. */
function normalizeAddress(address: string): string {
  return URL.canParse(address) ? new URL(address).href : address;
}

/** The settings of a connection, besides the address. */
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

/** Whether the engine has all connection settings that the entry sets. */
function hasSameConnection(toolset: object, engine: object): boolean {
  return CONNECTION.every((key) => {
    const wanted: unknown = Reflect.get(toolset, key);
    return isUnsetOrDefault(wanted) || textOf(wanted) === textOf(Reflect.get(engine, key));
  });
}

/** Whether a key is left out, or has the value that it has by default. */
export function isUnsetOrDefault(value: unknown): boolean {
  return value === undefined || value === false || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function textOf(value: unknown): string {
  return value === undefined ? "" : canonicalJson(copyJson(value).value);
}
