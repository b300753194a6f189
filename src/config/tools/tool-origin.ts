/** The origin of the tools of a configuration, and whether it is a third party. */
import { hash } from "node:crypto";
import { DEFAULT_NAMESPACE } from "../../core/call.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { toRegistryEntries, type HaftConfig } from "../haft-config.ts";
import type { Environment } from "../variables.ts";

/** The facts about a toolset of a configuration that a lock compares. */
export interface ToolOrigin {
  /** Whether its tools are described by a third party: an MCP server, an OpenAPI document. False for a disabled toolset. */
  readonly isThirdParty: boolean;
  /** See `sourceHash`. */
  readonly source: string | undefined;
}

/** Returns the origins by the name of the toolset, in the order of the file, from all of its tables. */
export function toolOrigins(config: HaftConfig): ReadonlyMap<string, ToolOrigin> {
  const origins = new Map<string, ToolOrigin>();
  for (const { path, namespace, toolset } of toRegistryEntries(config)) {
    const name = path[0] === "toolsets" ? String(path[1]) : (namespace ?? DEFAULT_NAMESPACE);
    if (origins.get(name)?.isThirdParty === true) continue; // the name has several entries, and an earlier one is third-party
    const isThirdParty = toolset.enabled && (toolset.type === "mcp" || toolset.type === "openapi");
    origins.set(name, { isThirdParty, source: sourceHash(toolset) });
  }
  return origins;
}

/** The keys of a toolset's table that decide which program or server it uses. */
const ORIGIN = ["command", "args", "url", "path", "document", "transport"];

/** Returns the SHA-256 of command and arguments, or of the address, in hex; undefined if a toolset has neither. */
export function sourceHash(config: object): string | undefined {
  const origin: Record<string, JsonValue> = {};
  for (const key of ORIGIN) {
    const value: unknown = Object.hasOwn(config, key) ? Reflect.get(config, key) : undefined;
    if (typeof value === "string" || Array.isArray(value) || isJsonObject(value)) origin[key] = copyJson(value).value;
  }
  if (Object.keys(origin).length === 0) return undefined;
  return hash("sha256", canonicalJson(origin));
}

/** Returns an environment in which the value of each set variable is its own reference: `${NAME}`. */
export function variableNames(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([, value]) => value !== undefined)
      .map(([name]) => [name, `\${${name}}`]),
  );
}
