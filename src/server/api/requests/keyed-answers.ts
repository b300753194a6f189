/** Runs requests with an `Idempotency-Key` once, and repeats their first answer. */
import { hash } from "node:crypto";
import { KEYED_REQUEST_RETENTION_MS, type AccessStore, type KeyedRequest, type RequestHold } from "../../../core/store/access-store.ts";
import { canonicalJson } from "../../../core/base/canonical-json.ts";
import { isJsonObject, type JsonValue } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { ToolError, describeThrown } from "../../../core/error.ts";
import type { Clock, Ids, Log } from "../../../core/ports.ts";
import { API, type OperationId } from "../../api.ts";
import type { Principal } from "../../auth/principal.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { HttpError } from "../../http/http-error.ts";
import { sleep } from "../../../processes/sleep.ts";
import { TextResponse } from "../../http/text-response.ts";
import type { RequestParts } from "./read-request.ts";
import type { Route } from "./route.ts";
import type { SessionIdentities } from "../sessions/session-identities.ts";

interface KeyedApiRequest {
  readonly id: OperationId;
  readonly principal: Principal;
  readonly request: RequestHead;
  readonly read: RequestParts;
}

type Answer = TextResponse | Response;

/** The first answer to a keyed request, as it is stored. */
interface StoredAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

/** How often a process that runs a request sends a heartbeat, in milliseconds. After SILENT_MS without one it counts as ended. */
const HEARTBEAT_MS = 5_000;
const SILENT_MS = 15_000;
/** How often to check whether the same request has ended in another process, in milliseconds. */
const POLL_MS = 100;

const HEADER = "idempotency-key";
const MAX_KEY_LENGTH = 255;
/** Operations that end their session: a repetition is answered although the session is gone. */
const ENDS_SESSION: ReadonlySet<OperationId> = new Set<OperationId>(["commitSession", "discardSession"]);
const DELETE_EVERY_MS = 60 * 60 * 1_000;
/** Headers of an answer that are stored and repeated. */
const STORED_HEADERS = ["content-type", "location", "cache-control", "retry-after", "x-should-retry"] as const;

export interface KeyedAnswersOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  /** Stores the requests and their first answers. */
  readonly access: AccessStore;
  readonly identityOf: SessionIdentities;
  /** The session id of an agent, by the agent's name; undefined if no agent has the name. */
  readonly sessionOfAgent: (name: string) => string | undefined;
}

/**
 * Runs keyed requests. A key belongs to a principal, a route and a session; a session that was removed and created again is a different one. A
 * request is recorded before it begins, with the fingerprint of the validated request: from then on, other content is refused with 409. The first
 * answer is kept for 24 hours, and repeated with `idempotency-replayed: true`. Of several processes with one store, one runs the request. The others
 * wait for its answer, and one of them runs it again if the first is silent for 15 s: that process has ended, and whether the work was done is
 * unknown. Requests that run calls do not wait: their session knows by the key which calls were made.
 */
export class KeyedAnswers {
  readonly #options: KeyedAnswersOptions;
  readonly #running = new Map<string, { readonly fingerprint: string; readonly ended: Promise<AttemptEnd> }>();
  /** Holders of attempts that have ended here but could not be released in the store; other attempts do not wait for them. */
  readonly #unreleasedHolders = new Set<string>();
  #deletedAt: number | undefined;

  constructor(options: KeyedAnswersOptions) {
    this.#options = options;
  }

  /**
   * Answers a request with the answer that is kept under its key, or by `work`.
   * @param work gets the scoped key; undefined without a key.
   * @throws ToolError `conflict`, `invalid_argument`; as the work
   */
  async answer(keyed: KeyedApiRequest, work: (key: string | undefined) => Promise<Answer>): Promise<Answer> {
    const given = keyed.request.headers.get(HEADER);
    if (given === null) return work(undefined);
    checkKey(given);
    const scoped = scopeKey(given, keyed);
    const key = await this.#storedKeyOf(scoped, keyed.read);
    const fingerprint = hash("sha256", canonicalJson([keyed.read.params, keyed.read.query, keyed.read.body ?? null]));
    const running = this.#running.get(key);
    if (running !== undefined) {
      if (running.fingerprint !== fingerprint) throw differentContentError();
      return toReplay((await running.ended).storedAnswer);
    }
    const ended = this.#run({ key, scoped, fingerprint, keyed }, () => work(scoped));
    this.#running.set(key, { fingerprint, ended });
    try {
      const { storedAnswer, isOwn } = await ended;
      if (key !== scoped && ENDS_SESSION.has(keyed.id)) await this.#storeUnderKey({ key: scoped, fingerprint, keyed }, storedAnswer);
      return isOwn ? toTextResponse(storedAnswer) : toReplay(storedAnswer);
    } finally {
      this.#running.delete(key);
    }
  }

  /** The key of the record. It includes the session's identity, so that answers of a removed session are not found for the next one with its id. */
  async #storedKeyOf(scoped: string, { params, body }: RequestParts): Promise<string> {
    const { agentName } = params;
    const { sessionId } =
      typeof agentName === "string"
        ? { sessionId: this.#options.sessionOfAgent(agentName) }
        : { ...(isJsonObject(body) ? body : {}), ...params };
    const identity = typeof sessionId === "string" ? await this.#options.identityOf(sessionId) : undefined;
    return identity === undefined ? scoped : hash("sha256", canonicalJson([scoped, identity]));
  }

  async #run({ key, scoped, fingerprint, keyed }: Attempt & { readonly scoped: string }, work: () => Promise<Answer>): Promise<AttemptEnd> {
    this.#deleteExpired();
    return this.#withHold(key, async (hold) => {
      const known = await this.#claim({ ...hold, fingerprint, keyed });
      if (known !== undefined && known.fingerprint !== fingerprint) throw differentContentError();
      if (known?.answer !== undefined) return { storedAnswer: parseStoredAnswer(known.answer), isOwn: false, isReleased: true };
      const stopBeats = this.#startHeartbeat(hold);
      try {
        const storedAnswer = await toStoredAnswer(await work());
        if (storedAnswer.status === 202) return { storedAnswer, isOwn: true }; // not an end result; a repetition runs it again
        // the session may have been created by another request after this one had looked it up
        const lasting = key === scoped ? await this.#storedKeyOf(scoped, keyed.read).catch(() => key) : key;
        return lasting === key
          ? await this.#storeAnswer({ key, keyed }, storedAnswer)
          : await this.#storeUnderKey({ key: lasting, fingerprint, keyed }, storedAnswer);
      } finally {
        stopBeats();
      }
    });
  }

  /**
   * Runs work while holding the request. A request that failed, has not ended, or whose answer could not be kept is released, and can begin again at
   * once. The store itself releases a request when it keeps the answer.
   */
  async #withHold(key: string, work: (hold: Hold) => Promise<AttemptEnd>): Promise<AttemptEnd> {
    const { access, ids, log } = this.#options;
    const hold = { key, holder: ids.next("holder") };
    let isFree = false;
    try {
      const ended = await work(hold);
      isFree = ended.isReleased === true;
      return ended;
    } finally {
      if (!isFree)
        await access.releaseRequest(hold).catch((thrown: unknown) => {
          this.#unreleasedHolders.add(hold.holder);
          log.warn(`A request could not be released: ${describeThrown(thrown)}`);
        });
    }
  }

  /** Claims the request. undefined if it must run here; otherwise its record, with an answer or with other content. */
  async #claim({ keyed, ...request }: Attempt & { readonly holder: string }): Promise<KeyedRequest | undefined> {
    const { access, clock } = this.#options;
    const timeoutMs = runsCalls(keyed) ? 0 : SILENT_MS;
    let seen: { readonly hold: RequestHold; readonly since: number } | undefined;
    for (;;) {
      const isSilent = seen !== undefined && (clock.now() - seen.since >= timeoutMs || this.#unreleasedHolders.has(seen.hold.holder));
      const [at, askedAt] = [clock.wallTime(), clock.now()];
      const known = await access.beginRequest({ ...request, at, ...(isSilent && seen !== undefined ? { after: seen.hold } : {}) });
      if (known?.hold === undefined || known.fingerprint !== request.fingerprint) {
        if (known === undefined && isSilent && seen !== undefined) this.#unreleasedHolders.delete(seen.hold.holder);
        return known;
      }
      const { hold } = known;
      // while the store could not be reached, it did not take the heartbeats of the holder either
      const wasCutOff = clock.now() - askedAt > HEARTBEAT_MS;
      if (wasCutOff || seen?.hold.holder !== hold.holder || seen.hold.beats !== hold.beats) seen = { hold, since: clock.now() };
      // the wait continues if the client disconnects, since others may be waiting for the same request
      if (timeoutMs > 0 && !this.#unreleasedHolders.has(hold.holder)) await sleep(clock, POLL_MS, undefined, { background: true });
    }
  }

  /** Sends heartbeats to other processes while this one works on a request. Returns a function that stops them. */
  #startHeartbeat(hold: Hold): () => void {
    const { access, clock, log } = this.#options;
    let cancel = (): void => {};
    const plan = (): void => {
      cancel = clock.timer(
        () => {
          access.holdRequest(hold).catch((thrown: unknown) => log.warn(`A request could not be held: ${describeThrown(thrown)}`));
          plan();
        },
        HEARTBEAT_MS,
        { background: true },
      );
    };
    plan();
    return () => cancel();
  }

  /**
   * Keeps an answer. If another process ran the request as well, the answer that was kept first is returned.
   *
   * @throws ToolError `unavailable` if it could not be kept and a repetition does nothing twice; otherwise the answer is returned although it was not
   * kept
   */
  async #storeAnswer({ key, keyed }: Pick<Attempt, "key" | "keyed">, storedAnswer: StoredAnswer): Promise<AttemptEnd> {
    const { access, log } = this.#options;
    const answer = JSON.stringify(storedAnswer);
    try {
      const first = (await access.answerRequest({ key, answer })) ?? answer;
      return { storedAnswer: first === answer ? storedAnswer : parseStoredAnswer(first), isOwn: first === answer, isReleased: true };
    } catch (thrown: unknown) {
      if (runsCalls(keyed)) throw notStoredError(thrown);
      log.warn(`An answer could not be kept: ${describeThrown(thrown)}`);
      return { storedAnswer, isOwn: true };
    }
  }

  /** Keeps an answer under another key than its request began with, because the session was created or removed meanwhile. */
  async #storeUnderKey({ key, fingerprint, keyed }: Attempt, storedAnswer: StoredAnswer): Promise<AttemptEnd> {
    const { access, clock, log } = this.#options;
    const ended = await this.#withHold(key, async (hold) => {
      try {
        const known = await access.beginRequest({ ...hold, fingerprint, at: clock.wallTime() });
        if (known !== undefined && known.fingerprint !== fingerprint) return { storedAnswer, isOwn: true }; // that record keeps its own answer
      } catch (thrown: unknown) {
        if (runsCalls(keyed)) throw notStoredError(thrown);
        log.warn(`An answer could not be kept: ${describeThrown(thrown)}`);
      }
      return this.#storeAnswer({ key, keyed }, storedAnswer);
    });
    return { storedAnswer: ended.storedAnswer, isOwn: ended.isOwn };
  }

  /** Deletes expired answers, once an hour. */
  #deleteExpired(): void {
    const { access, clock, log } = this.#options;
    if (this.#deletedAt !== undefined && clock.now() - this.#deletedAt < DELETE_EVERY_MS) return;
    this.#deletedAt = clock.now();
    this.#unreleasedHolders.clear();
    void access
      .forgetRequests(clock.wallTime() - KEYED_REQUEST_RETENTION_MS)
      .catch((thrown: unknown) => log.warn(`Old answers could not be removed: ${describeThrown(thrown)}`));
  }
}

interface AttemptEnd {
  readonly storedAnswer: StoredAnswer;
  /** Whether it is the answer of this attempt, not one that was kept before. */
  readonly isOwn: boolean;
  /** Whether the request is already released, because its record has an answer. @default false */
  readonly isReleased?: boolean;
}

type Hold = Pick<KeyedRequest, "key"> & Pick<RequestHold, "holder">;

interface Attempt {
  readonly key: string;
  readonly fingerprint: string;
  readonly keyed: KeyedApiRequest;
}

/** @throws HttpError 400 */
function checkKey(key: string): void {
  if (/^[\u0020-\u007e]+$/u.test(key) && key.length <= MAX_KEY_LENGTH) return;
  throw new HttpError(400, "invalid_argument", `An Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`);
}

/** The key scoped to its principal, route and path parameters. */
function scopeKey(key: string, { id, principal, read: { params } }: KeyedApiRequest): string {
  return hash("sha256", canonicalJson([principal.id, id, params, key]));
}

/** @throws ToolError `corrupt_record` */
function parseStoredAnswer(text: string): StoredAnswer {
  const value: JsonValue = parseJson(text, { maxDepth: 8, maxChars: Infinity });
  if (isJsonObject(value) && typeof value["status"] === "number" && Array.isArray(value["headers"]) && typeof value["body"] === "string")
    return value as unknown as StoredAnswer; // written by #keep
  throw new ToolError("corrupt_record", "The first answer to this request is damaged.");
}

async function toStoredAnswer(answer: Answer): Promise<StoredAnswer> {
  const headers = STORED_HEADERS.flatMap((name): [string, string][] => {
    const value = answer instanceof Response ? answer.headers.get(name) : answer.headers[name];
    return value === null || value === undefined ? [] : [[name, value]];
  });
  return { status: answer.status, headers, body: answer instanceof Response ? await answer.text() : answer.text };
}

function toTextResponse({ status, headers, body }: StoredAnswer): TextResponse {
  return new TextResponse(status, Object.fromEntries(headers), body);
}

function toReplay(stored: StoredAnswer): TextResponse {
  return toTextResponse(stored).with("idempotency-replayed", "true");
}

/** Whether the request runs calls: their session knows by the key which of them were made. */
function runsCalls({ id }: KeyedApiRequest): boolean {
  return (API[id] as Route).mayTakeLong === true;
}

function notStoredError(cause: unknown): ToolError {
  return new ToolError("unavailable", `The answer to this request could not be kept: ${describeThrown(cause)}`, {
    retryable: true,
    cause,
    hint: "Send it again with the same Idempotency-Key: no call is made twice.",
  });
}

function differentContentError(): ToolError {
  return new ToolError("conflict", "This Idempotency-Key was used for a request with other content.", {
    hint: "Use a new key for a new request.",
  });
}
