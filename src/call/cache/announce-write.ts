/** Tells the cache what calls write, before they begin and when they end, so that answers read from these resources are dropped. */
import { isSessionKey } from "../../core/effects.ts";
import { ToolError } from "../../core/error.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { isAdmitted, lockKeysOf, type AdmittedCall, type CallRun } from "../call-run.ts";
import { notStarted, startedTooLate } from "../attempt/not-started.ts";
import { cacheSettings } from "../../registry/check-cache.ts";
import type { Registry } from "../../registry/registry.ts";

/**
 * Announces the write of an attempt before it begins. Returns undefined if it may begin; otherwise a promise of the error, if any: other processes
 * that use the store must know of the write before it happens.
 */
export function announceWrite(run: AdmittedCall): undefined | Promise<ToolError | undefined> {
  if (!mayChange(run)) return undefined;
  const { cache, registry } = run.parts;
  if (cache.inUse) cache.versions.write(lockKeysOf(run).writes);
  const { stored } = cache;
  if (stored === undefined) return undefined;
  stored.useIf(() => keepsResults(registry), registry.version);
  const known = stored.beforeWrite(sharedWrites(run));
  return known === undefined ? undefined : waitUntilKnown(run, known);
}

/** Whether results of any tool may be cached in the store. */
function keepsResults(registry: Registry): boolean {
  for (const { tool } of registry) if (tool.cache !== undefined && cacheSettings(tool.cache).scope === "persistent") return true;
  return false;
}

/** Announces that an attempt has ended, was abandoned, or ended after that. Answers read while it may have been writing are dropped. */
export function writeEnded(run: AdmittedCall): void {
  if (!mayChange(run)) return;
  const { cache } = run.parts;
  if (cache.inUse) cache.versions.write(lockKeysOf(run).writes);
  cache.stored?.afterWrite(sharedWrites(run));
}

/** Drops the cached results of resources that a call may have written, whether or not it ran. */
export function dropWritten(run: CallRun): void {
  if (isAdmitted(run)) writeEnded(run);
}

/** Whether the call changes anything outside its simulation; false for a call that only reads. */
function mayChange({ effects, route, simulated }: AdmittedCall): boolean {
  if (effects.writes.length === 0 || route.rules.isPretended) return false;
  return !simulated || (effects.writesWorld && route.engine.effectFree !== true);
}

/** The written keys, without session keys, which no store caches. */
function sharedWrites({ effects }: AdmittedCall): readonly string[] {
  const { writes } = effects.lock;
  return effects.hasSessionKeys ? writes.filter((key) => !isSessionKey(key)) : writes;
}

async function waitUntilKnown(run: AdmittedCall, known: Promise<void>): Promise<ToolError | undefined> {
  const waited = await waitFor(run, known, {
    endsAt: run.deadlineAt,
    late: () => startedTooLate(run, "the store had not recorded what it writes before the call's deadline."),
  });
  if ("value" in waited) return undefined;
  if ("ended" in waited) return waited.ended;
  const error = ToolError.fromUnknown(waited.thrown, "store_failed");
  return notStarted(run, error, `the store could not record what it writes: ${error.message}`);
}
