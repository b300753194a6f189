/** Tells the cache what calls write, before they begin and when they end, so that answers read from these resources are dropped. */
import { isSessionKey } from "../../core/resources/effects.ts";
import { ToolError } from "../../core/error.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { isAdmitted, lockKeysOf, type AdmittedCall, type CallRun } from "../call-run.ts";
import { notStartedError, startTimeoutError } from "../attempt/not-started-errors.ts";
import { normalizeCacheSettings } from "../../registry/check-cache.ts";
import type { Registry } from "../../registry/registry.ts";

/**
 * Announces the write of an attempt before it begins. Returns undefined if it may begin; otherwise a promise of the error, if any: other processes
 * that use the store must know of the write before it happens.
 */
export function announceWrite(run: AdmittedCall): undefined | Promise<ToolError | undefined> {
  if (!mayChangeResources(run)) return undefined;
  const { cache, registry } = run.services;
  if (cache.isInUse) cache.versions.recordWrite(lockKeysOf(run).writes);
  const { stored } = cache;
  if (stored === undefined) return undefined;
  stored.enableIf(() => hasPersistentCache(registry), registry.version);
  const known = stored.beforeWrite(sharedWrites(run));
  return known === undefined ? undefined : waitUntilAnnounced(run, known);
}

/** Whether results of any tool may be cached in the store. */
function hasPersistentCache(registry: Registry): boolean {
  for (const { tool } of registry) if (tool.cache !== undefined && normalizeCacheSettings(tool.cache).scope === "persistent") return true;
  return false;
}

/** Announces that an attempt has ended, was abandoned, or ended after that. Answers read while it may have been writing are dropped. */
export function announceWriteEnd(run: AdmittedCall): void {
  if (!mayChangeResources(run)) return;
  const { cache } = run.services;
  if (cache.isInUse) cache.versions.recordWrite(lockKeysOf(run).writes);
  cache.stored?.afterWrite(sharedWrites(run));
}

/** Announces that a handler was abandoned and may still be writing. Returns the function that announces its end. */
export function announceUnfinishedWrite(run: AdmittedCall): () => void {
  if (!mayChangeResources(run)) return () => {};
  const { cache } = run.services;
  const finish = cache.versions.recordUnfinishedWrite(lockKeysOf(run).writes);
  return () => {
    finish();
    cache.stored?.afterWrite(sharedWrites(run));
  };
}

/** Drops the cached results of resources that a call may have written, whether or not it ran. */
export function dropWrittenResults(run: CallRun): void {
  if (isAdmitted(run)) announceWriteEnd(run);
}

/** Whether the call changes anything outside its simulation; false for a call that only reads. */
function mayChangeResources({ effects, route, simulated }: AdmittedCall): boolean {
  if (effects.writes.length === 0 || route.rules.isPretended) return false;
  return !simulated || (effects.writesWorld && route.engine.effectFree !== true);
}

/** The written keys, without session keys, which no store caches. */
function sharedWrites({ effects }: AdmittedCall): readonly string[] {
  const { writes } = effects.lock;
  return effects.hasSessionKeys ? writes.filter((key) => !isSessionKey(key)) : writes;
}

async function waitUntilAnnounced(run: AdmittedCall, known: Promise<void>): Promise<ToolError | undefined> {
  const waited = await waitFor(run, known, {
    endsAt: run.deadlineAt,
    timeoutError: () => startTimeoutError(run, "the store had not recorded what it writes before the call's deadline."),
  });
  if ("value" in waited) return undefined;
  if ("ended" in waited) return waited.ended;
  const error = ToolError.fromUnknown(waited.thrown, "store_failed");
  return notStartedError(run, error, `the store could not record what it writes: ${error.message}`);
}
