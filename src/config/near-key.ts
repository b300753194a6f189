/** Finds the intended key for a misspelled one. */
import { EditDistance } from "../core/base/near-names.ts";

/** Names that other tools use for our keys. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ["environment", "env"],
  ["timeout", "timeoutMs"],
  ["deadline", "deadlineMs"],
  ["retries", "maxAttempts"],
  ["maxretries", "maxAttempts"],
  ["concurrency", "maxConcurrent"],
  ["disabled", "enabled"],
  ["folder", "root"],
  ["directory", "root"],
  ["path", "root"],
  ["file", "path"],
  ["module", "path"],
  ["arguments", "args"],
  ["cmd", "command"],
  ["transport", "type"],
  ["permissions", "permission"],
  ["approvals", "approval"],
  ["toolset", "toolsets"],
  ["tools", "toolsets"],
  ["mcp", "toolsets"],
  ["servers", "toolsets"],
  ["mcpservers", "toolsets"],
  ["database", "store"],
  ["db", "store"],
  ["sessions", "store"],
  ["url", "path"],
  ["spec", "document"],
  ["openapi", "document"],
  ["bearertoken", "auth"],
  ["token", "auth"],
  ["basicauth", "auth"],
  ["apikey", "auth"],
  ["operationids", "include"],
  ["operations", "include"],
  ["verify", "verifyTls"],
  ["insecure", "verifyTls"],
  ["lazy", "start"],
  ["env", "allow"],
  ["stdio", "mcp"],
  ["sse", "mcp"],
  ["http", "mcp"],
  ["streamablehttp", "mcp"],
  ["plugins", "extensions"],
  ["simulate", "simulation"],
  ["ladder", "sources"],
  ["rungs", "sources"],
  ["mocks", "stubs"],
  ["cassette", "recording"],
  ["errorcategories", "faults"],
  ["timers", "triggers"],
  ["schedules", "triggers"],
  ["busytimeout", "busyTimeoutMs"],
  ["maxsize", "maxBytes"],
]);

/** Longer keys and further candidates are not compared. */
const MAX_LENGTH = 64;
const MAX_KNOWN = 100;

/** Returns the key of `known` with the most similar spelling, ignoring case and separators; undefined if none is similar. */
export function nearKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > MAX_LENGTH) return undefined;
  const wanted = plain(key);
  const other = OTHER_WORDS.get(wanted);
  if (other !== undefined && known.includes(other)) return other;
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  const measure = new EditDistance(wanted, least - 1);
  for (const candidate of known.slice(0, MAX_KNOWN)) {
    if (candidate.length > MAX_LENGTH) continue;
    const distance = measure.distanceTo(plain(candidate));
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Returns ` Did you mean "root"?`, to be appended to another sentence; empty if no key is similar. */
export function nearHint(key: string, known: readonly string[]): string {
  const near = nearKey(key, known);
  return near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
}

/** Returns `unknown key. Did you mean "root"?`, or the list of known keys. */
export function unknownKey(key: string, known: readonly string[]): string {
  return `unknown key.${nearHint(key, known) || ` Known keys: ${known.join(", ")}.`}`;
}

function plain(key: string): string {
  return key.replaceAll(/[_\-\s]/gu, "").toLowerCase();
}
