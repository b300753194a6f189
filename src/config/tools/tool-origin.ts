/** Where the tools of a configuration come from, and whose they are. */
import { hash } from "node:crypto";
import { DEFAULT_NAMESPACE } from "../../core/call.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { routedOf, type HaftConfig } from "../haft-config.ts";
import type { Environment } from "../variables.ts";

/** The facts that a lock compares of one toolset of a configuration. */
export interface ToolOrigin {
  /** Its tools are described by a third party: an MCP server, an OpenAPI document. Never so for one that is switched off. */
  readonly isThirdParty: boolean;
  /** See `sourceHash`. */
  readonly source: string | undefined;
}

/** By name of the toolset, in the order of the file, whatever part of it they are in. */
export function toolOrigins(config: HaftConfig): ReadonlyMap<string, ToolOrigin> {
  const origins = new Map<string, ToolOrigin>();
  for (const { path, namespace, toolset } of routedOf(config)) {
    const name = path[0] === "toolsets" ? String(path[1]) : (namespace ?? DEFAULT_NAMESPACE);
    if (origins.get(name)?.isThirdParty === true) continue; // it is one of several entries, and another is not third-party
    const isThirdParty = toolset.enabled && (toolset.type === "mcp" || toolset.type === "openapi");
    origins.set(name, { isThirdParty, source: sourceHash(toolset) });
  }
  return origins;
}

/** The keys of a toolset's table that decide whom it talks to. */
const ORIGIN = ["command", "args", "url", "path", "document", "transport"];

/** The SHA-256 of command and arguments, or of the address, in hex; undefined where a toolset has neither. */
export function sourceHash(config: object): string | undefined {
  const origin: Record<string, JsonValue> = {};
  for (const key of ORIGIN) {
    const value: unknown = Object.hasOwn(config, key) ? Reflect.get(config, key) : undefined;
    if (typeof value === "string" || Array.isArray(value) || isJsonObject(value)) origin[key] = copyJson(value).value;
  }
  if (Object.keys(origin).length === 0) return undefined;
  return hash("sha256", canonicalJson(origin));
}

/** An environment in which each variable that is set holds its own name, as it is written: `${NAME}`. */
export function variableNames(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([, value]) => value !== undefined)
      .map(([name]) => [name, `\${${name}}`]),
  );
}
