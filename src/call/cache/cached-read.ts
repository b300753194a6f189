/** Answers a call that only reads with the answer of an equal call, from before or still in flight. */
import { ToolError } from "../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { SingleFlight } from "../../policy/cache/single-flight.ts";
import type { CachedAnswer } from "../../policy/cache/result-cache.ts";
import type { StoredResults } from "../../policy/cache/stored-results.ts";
import { isValidOutput } from "../../schema/long-integers.ts";
import { artifactIdsIn, hasAllArtifacts } from "./cached-artifacts.ts";
import { CachePlan, type CachedRead } from "./cache-plan.ts";
import { CallRun, lockKeysOf, type AdmittedCall } from "../call-run.ts";
import { wouldDeadlock } from "../attempt/deadlock.ts";
import { startTimeoutError } from "../attempt/not-started-errors.ts";
import { copyContent } from "../../session/copy-content.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import { isSessionIndependent, mayShareAnswer } from "./unshared-answer.ts";

/** The outcome of a cache look-up: an answer, an error that ends the attempt, or nothing. */
export type LookupOutcome = "answered" | ToolError | undefined;

/**
 * Looks for an answer in the cache. The call holds its locks, so it sees every earlier write; its slots are not taken yet.
 *
 * The first of equal calls without an answer runs and the others wait for it. If it ends without an answer, each of them runs by itself. A
 * simulated call uses cached answers, but changes nothing in the cache.
 */
export function lookUpCached(run: AdmittedCall): LookupOutcome | Promise<LookupOutcome> {
  const read = (run.cachedRead ??= startCachedRead(run));
  if (read === undefined) return undefined;
  const { cache } = run.services;
  if (run.simulated) return peekCached(run, read);
  const answer = read.stored === undefined ? cache.find(read.partition, read.key) : undefined;
  if (answer !== undefined) return takeIfComplete(run, read, answer);
  const flight = read.partition.flights.get(read.key);
  if (flight !== undefined && flight !== read.flight && (flight.isSettling || (!read.runsAlone && mayWaitForFlight(run, flight))))
    return joinFlight(run, read, flight);
  if (flight === undefined) {
    read.flight = new SingleFlight(run);
    read.partition.flights.set(read.key, read.flight);
  }
  read.runsAlone = true;
  read.asOf = cache.versions.now;
  return read.stored === undefined ? undefined : lookInStore(run, read, read.stored);
}

/** Like `lookUpCached`, for a call that may not run: it uses a cached answer, but neither waits nor lets others wait. */
export function recallCached(run: AdmittedCall): LookupOutcome | Promise<LookupOutcome> {
  const read = (run.cachedRead ??= startCachedRead(run));
  return read === undefined ? undefined : peekCached(run, read);
}

/** Called when the handler has answered: the rest of the call needs no locks or slots, so any equal call may wait for it now. */
export function markFlightSettling({ flight }: CachedRead): void {
  if (flight !== undefined) flight.isSettling = true;
}

/** Lets the calls that wait for this one continue without it: it failed, and its retries may take long. */
export function releaseFollowers(run: CallRun): void {
  if (run.cachedRead !== undefined) endFlight(run.cachedRead, undefined);
}

/** Called at the end of every call: caches its answer, if that may be cached, and passes it to the calls that wait. */
export function endCachedRead(run: CallRun, error: ToolError | undefined): void {
  const { cachedRead } = run;
  if (cachedRead === undefined) return;
  run.cachedRead = undefined;
  const isSound =
    error === undefined &&
    run.answer.error === undefined &&
    run.faults?.answerFault === undefined &&
    run.answer.sameAs === undefined && // it refers to results that its own session was shown
    mayShareAnswer(run, cachedRead) &&
    !run.simulated &&
    run.services.cache.versions.isUnchangedSince(cachedRead.asOf, [...cachedRead.reads, ...cachedRead.otherReads]);
  // Cache the tool's own answer, before hooks and truncation: both are applied again on every hit.
  const { output, content, metadata, exitCode } = run.answer;
  const { otherReads, readsSession } = cachedRead;
  const ofHandler = { ...(otherReads.length === 0 ? {} : { otherReads }), ...omitUndefined({ readsSession }) };
  const answer = isSound ? { output, content, metadata, exitCode, ...ofHandler } : undefined;
  if (answer !== undefined) storeAnswer(run, cachedRead, answer);
  endFlight(cachedRead, answer);
}

/** Returns undefined for a call whose answer cannot be shared. */
function startCachedRead(run: AdmittedCall): CachedRead | undefined {
  const { effects, route, options, services, turn, plan: toolPlan } = run;
  // a call with confirmed safety checks is always run
  if (effects.writes.length > 0 || !route.rules.caches || run.safetyChecks !== undefined) return undefined;
  // Without validation, the input does not identify equal calls, and the answer may not fit the output schema.
  if (!options.validate) return undefined;
  const plan = (toolPlan.cachePlan ??= CachePlan.of(toolPlan.registered, { number: services.cache.nextNumber(), log: services.ports.log }));
  const owner = plan === undefined ? undefined : findCacheOwner(run, plan);
  const key = owner === undefined ? undefined : plan?.keyOf(run.input, options, turn.session);
  if (plan === undefined || owner === undefined || key === undefined) return undefined;
  return {
    plan,
    key,
    partition: services.cache.partitionOf(owner),
    reads: lockKeysOf(run).reads,
    stored: owner === services.cache && plan.scope === "persistent" ? services.cache.stored : undefined,
    asOf: 0,
    versions: undefined,
    flight: undefined,
    otherReads: [],
    readsSession: undefined,
    unsharedBecause: undefined,
    runsAlone: false,
  };
}

/** The scope in which the call may share answers; undefined if no other call could use them. */
function findCacheOwner(run: AdmittedCall, { scope }: CachePlan): object | undefined {
  const { turn, services } = run;
  if ((scope === "runtime" || scope === "persistent") && isSessionIndependent(run)) return services.cache;
  if (scope === "turn" || !turn.session.recorded) return run.job === undefined ? findCachingTurn(turn) : undefined; // a job outlives its turn
  return run.simulated && declaresReads(run) ? findSimulatedSession(turn.session) : turn.session;
}

/** The whole turn, including the nested calls and those of the code that holds the turn; undefined for a single call. */
function findCachingTurn(turn: Turn): Turn | undefined {
  const { joinedTurn } = turn;
  if (joinedTurn === undefined) return turn.isSingleCall ? undefined : turn;
  joinedTurn.cachesNestedAnswers = true;
  return joinedTurn;
}

/** Whether the answer depends only on declared reads. Otherwise it depends on the whole toolset, including changes of the call's own branch. */
function declaresReads(run: AdmittedCall): boolean {
  return isSessionIndependent(run) && run.plan.tool.effects?.reads !== undefined;
}

/** The session that is being simulated: a read of real resources gives both the same answer. */
function findSimulatedSession(session: Session): Session {
  let real = session;
  while (real.simulation !== undefined && real.parent !== undefined) real = real.parent;
  return real;
}

/** Ends the call with the cached answer, as if it had run. */
function takeCachedAnswer(run: CallRun, answer: CachedAnswer): "answered" {
  const own = run.answer;
  own.output = answer.output;
  own.content = answer.content;
  own.metadata = answer.metadata;
  own.exitCode = answer.exitCode;
  own.isCached = true;
  if (answer.otherReads !== undefined) own.otherReads = answer.otherReads;
  if (answer.readsSession !== undefined) own.readsSession = answer.readsSession;
  endFlightAndRead(run, answer);
  return "answered";
}

function endFlightAndRead(run: CallRun, answer: CachedAnswer): void {
  if (run.cachedRead !== undefined) endFlight(run.cachedRead, answer);
  run.cachedRead = undefined;
}

function endFlight(read: CachedRead, answer: CachedAnswer | undefined): void {
  const { flight, partition, key } = read;
  if (flight === undefined) return;
  read.flight = undefined;
  partition.flights.delete(key);
  flight.end(answer);
}

/**
 * Whether the call may wait for the leader. False if a call around it holds something that the leader may need: the outer call ends only after this
 * one.
 *
 * The locks that an ended call lent are held until its nested calls have ended. A leader nested in the same call borrows what that call holds.
 */
function mayWaitForFlight(run: CallRun, flight: SingleFlight<CachedAnswer>): boolean {
  const { leader } = flight;
  let holder = run.callerRun;
  while (holder !== undefined && !holder.holdsAnything && holder.result === undefined) holder = holder.callerRun;
  let outer = leader instanceof CallRun ? leader.callerRun : undefined;
  while (outer !== undefined && outer !== holder) outer = outer.callerRun;
  if (outer !== holder) return false;
  run.awaitedFlight = flight;
  const isDeadlock = wouldDeadlock(run);
  run.awaitedFlight = undefined;
  return !isDeadlock;
}

async function joinFlight(run: AdmittedCall, read: CachedRead, flight: SingleFlight<CachedAnswer>): Promise<LookupOutcome> {
  run.awaitedFlight = flight;
  if (run.callerRun !== undefined) run.services.nestedWaits.add(run);
  const waited = await waitFor(run, flight.whenEnded(), {
    endsAt: run.deadlineAt,
    timeoutError: () => waitTimeoutError(run, "an equal call"),
  });
  run.services.nestedWaits.delete(run);
  run.awaitedFlight = undefined;
  if ("ended" in waited) return waited.ended;
  if ("value" in waited && waited.value !== undefined) {
    const isCurrent = await isUnwritten(run, { read, flight, answer: waited.value });
    if (isCurrent instanceof ToolError) return isCurrent;
    if (isCurrent) return takeCachedAnswer(run, waited.value);
  }
  read.runsAlone = true;
  return lookUpCached(run);
}

/** A read by a leader, as one of its followers sees it. */
interface LedRead {
  readonly read: CachedRead;
  readonly flight: SingleFlight<CachedAnswer>;
  readonly answer: CachedAnswer;
}

/** Whether no other process has written what the leader read since it began: this call may have begun after such a write. */
async function isUnwritten(run: AdmittedCall, { read: { stored, reads }, flight, answer }: LedRead): Promise<boolean | ToolError> {
  if (stored === undefined) return true;
  if (flight.versions === undefined || answer.otherReads !== undefined) return false;
  const later = await waitForStore(run, (flight.laterVersions ??= stored.versions(reads)));
  return later instanceof ToolError ? later : later?.every((version, index) => version === flight.versions?.[index]) === true;
}

function peekCached(run: AdmittedCall, read: CachedRead): LookupOutcome | Promise<LookupOutcome> {
  if (read.stored !== undefined) return lookInStore(run, read, read.stored);
  const answer = run.services.cache.peek(read.partition, read.key);
  return answer === undefined ? undefined : takeIfComplete(run, read, answer);
}

/** Takes an answer of this process, if the artifacts that it refers to are still kept. */
function takeIfComplete(run: AdmittedCall, read: CachedRead, answer: CachedAnswer): LookupOutcome | Promise<LookupOutcome> {
  const hasFiles = hasStoredFiles(run, answer);
  if (hasFiles === true) return takeCachedAnswer(run, answer);
  return hasFiles.then((found) => {
    if (found === true) return takeCachedAnswer(run, answer);
    if (found instanceof ToolError) return found;
    run.services.cache.drop(read.partition, read.key, answer);
    return run.simulated ? undefined : lookUpCached(run);
  });
}

/** Whether the artifacts of an answer are still kept; true at once if it has none. False if the store fails: the call then runs. */
function hasStoredFiles(run: AdmittedCall, answer: CachedAnswer): true | Promise<boolean | ToolError> {
  const { artifacts } = run.services;
  if (artifacts === undefined || artifacts === false) return true;
  const ids = artifactIdsIn(answer);
  return ids.length === 0 || waitForStore(run, hasAllArtifacts(artifacts, ids)).then((found) => found ?? false);
}

async function lookInStore(run: AdmittedCall, read: CachedRead, stored: StoredResults): Promise<LookupOutcome> {
  const found = await waitForStore(run, stored.get(read.plan.storedKey(read.key), run.clock.wallTime()));
  if (found instanceof ToolError) return found;
  const answer = found === undefined ? undefined : parseStoredAnswer(run, found);
  const hasFiles = answer !== undefined && (await hasStoredFiles(run, answer));
  if (hasFiles instanceof ToolError) return hasFiles;
  if (answer !== undefined && hasFiles) return takeCachedAnswer(run, answer);
  if (run.simulated) return undefined;
  const versions = await waitForStore(run, stored.versions(read.reads));
  if (versions instanceof ToolError) return versions;
  read.versions = versions;
  if (read.flight !== undefined) read.flight.versions = versions;
  return undefined;
}

async function waitForStore<T>(run: AdmittedCall, pending: Promise<T>): Promise<T | undefined | ToolError> {
  const waited = await waitFor(run, pending, { endsAt: run.deadlineAt, timeoutError: () => waitTimeoutError(run, "the store") });
  if ("ended" in waited) return waited.ended;
  return "value" in waited ? waited.value : undefined;
}

function waitTimeoutError(run: AdmittedCall, awaited: string): ToolError {
  return startTimeoutError(run, `it waited for ${awaited} until the call's deadline of ${run.plan.settings.deadlineMs} ms.`);
}

function storeAnswer(run: CallRun, read: CachedRead, answer: CachedAnswer): void {
  const { plan, stored, versions } = read;
  const reads = read.otherReads.length === 0 ? read.reads : [...read.reads, ...read.otherReads];
  const { cache } = run.services;
  if (stored === undefined) {
    cache.store(read, answer, { asOf: read.asOf, reads, ttlMs: plan.ttlMs });
  } else if (versions !== undefined) {
    const body = JSON.stringify(answer);
    if (body.length > cache.maxBytes / 4) return;
    const storedAt = run.clock.wallTime();
    const expiresAt = plan.ttlMs === undefined ? undefined : storedAt + plan.ttlMs;
    stored.put({ key: plan.storedKey(read.key), body, resources: reads, versions, storedAt, expiresAt });
  }
}

/** Returns the stored answer if it is still valid for this tool: other programs may have changed the store. */
function parseStoredAnswer(run: AdmittedCall, body: string): CachedAnswer | undefined {
  try {
    const { value } = copyJson(parseJson(body));
    if (!isJsonObject(value)) return undefined;
    const { output, content, metadata, exitCode }: Partial<JsonObject> = value;
    const validator = run.plan.outputValidator;
    if (validator !== undefined && !isValidOutput(validator, output)) return undefined;
    if (metadata !== undefined && !isJsonObject(metadata)) return undefined;
    return {
      output,
      content: content === undefined ? undefined : copyContent(content),
      metadata,
      exitCode: exitCode === 0 ? exitCode : undefined,
    };
  } catch {
    return undefined;
  }
}
