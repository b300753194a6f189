/** Reads the tables with settings of the policies, checked as the policies do. */
import type { JobLimits } from "../../call/jobs/job-table.ts";
import type { JsonLimits } from "../../core/base/json-limits.ts";
import { formatForOperator } from "../../core/error.ts";
import type { ApprovalSettings } from "../../policy/approval/approval-gate.ts";
import type { CircuitSettings } from "../../policy/attempts/circuit.ts";
import { createNameMatcher, type PermissionRules } from "../../policy/permission.ts";
import type { CacheOptions } from "../../policy/cache/result-cache.ts";
import type { RetrySettings } from "../../policy/attempts/retry.ts";
import { COUNT, MILLISECONDS, FRACTION, SIZE } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { TableReader } from "../table-reader.ts";

/** An approver that is a function can only be set in code. */
export interface ApprovalConfig extends Omit<ApprovalSettings, "approve"> {
  /** Whether questions wait in the inbox of the store if no person can be asked. */
  readonly inbox?: boolean;
}

/** Returns the approval settings for a program that passes no approver. */
export function approvalSettings({ inbox, ...settings }: ApprovalConfig): ApprovalSettings {
  return inbox === true ? { ...settings, approve: "inbox" } : settings;
}

export const NOT_OF_RETRY: ReadonlyMap<string, string> = new Map([["maxAttempts", "belongs in runtime, or in a toolset."]]);

export function readRetry(table: TableReader): RetrySettings {
  return omitUndefined({
    delayMs: table.number("delayMs", MILLISECONDS),
    factor: table.number("factor", { min: 1, max: 100, integer: false }),
    maxDelayMs: table.number("maxDelayMs", MILLISECONDS),
    jitter: table.flag("jitter"),
  });
}

/** False for a disabled circuit; its other keys are still checked. */
export function readCircuit(table: TableReader): CircuitSettings | false {
  const enabled = table.flag("enabled") ?? true;
  const circuit = omitUndefined({
    failures: table.number("failures", COUNT),
    windowMs: table.number("windowMs", { ...MILLISECONDS, min: 10 }),
    openMs: table.number("openMs", { ...MILLISECONDS, min: 1 }),
    probes: table.number("probes", COUNT),
    minimumRate: table.number("minimumRate", FRACTION),
  });
  return enabled && circuit;
}

export function readPermission(table: TableReader): PermissionRules {
  return omitUndefined({ allow: readPatterns(table, "allow"), deny: readPatterns(table, "deny") });
}

export function readApproval(table: TableReader): ApprovalConfig {
  return omitUndefined({
    always: readPatterns(table, "always"),
    never: readPatterns(table, "never"),
    timeoutMs: table.number("timeoutMs", MILLISECONDS),
    inbox: table.flag("inbox"),
  });
}

export function readCache(table: TableReader): CacheOptions {
  return omitUndefined({ maxBytes: table.number("maxBytes", SIZE) });
}

export function readJobs(table: TableReader): JobLimits {
  return omitUndefined({
    maxRunning: table.number("maxRunning", SIZE),
    maxQueued: table.number("maxQueued", SIZE),
    maxPerPrincipal: table.number("maxPerPrincipal", COUNT),
    keepEnded: table.number("keepEnded", SIZE),
    keepEndedMs: table.number("keepEndedMs", MILLISECONDS),
    maxOutputChars: table.number("maxOutputChars", COUNT),
    keepStored: table.number("keepStored", SIZE),
    keepStoredMs: table.number("keepStoredMs", MILLISECONDS),
  });
}

export function readInputLimits(table: TableReader): JsonLimits {
  return omitUndefined({
    maxDepth: table.number("maxDepth", SIZE),
    maxNodes: table.number("maxNodes", SIZE),
    maxChars: table.number("maxChars", SIZE),
    maxWideKeys: table.number("maxWideKeys", SIZE),
  });
}

/** Reads patterns over qualified names, and reports those that the policy would refuse. */
export function readPatterns(table: TableReader, key: string): readonly string[] | undefined {
  return table.texts(key, (pattern) => patternFault(pattern, key));
}

/** Returns what is wrong with a pattern over qualified names; undefined if nothing is. */
export function patternFault(pattern: string, key: string): string | undefined {
  try {
    createNameMatcher([pattern], key);
    return undefined;
  } catch (error: unknown) {
    return formatForOperator(error);
  }
}
