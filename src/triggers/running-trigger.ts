/** A running trigger: starts it, restarts it after a failure, and stops it. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkArgument, checkString } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Ports } from "../core/ports.ts";
import { checkTraceparent } from "../core/formats/traceparent.ts";
import type { StoredTrigger } from "../session/inbox.ts";
import type { Channels } from "./channels.ts";
import { notifySafely } from "../policy/notify-safely.ts";
import type { FireOptions, Trigger, TriggerContext } from "./trigger.ts";
import type { TriggerSession } from "./trigger-session.ts";

export interface RunningTriggerOptions {
  readonly kind: Trigger;
  readonly stored: StoredTrigger;
  readonly isNew: boolean;
  readonly session: TriggerSession;
  readonly channels: Channels;
  /** Called when a message of the trigger is durable. */
  readonly onFire: () => void;
}

/** How long after a failure the trigger is started again, or its message sent again, in milliseconds. */
const RETRY_DELAY_MS = 1_000;
/** Minimum time between two wakes, so that a timer of a millisecond does not keep waking an agent whose runs end at once. */
const MIN_WAKE_INTERVAL_MS = 60_000;

export class RunningTrigger {
  readonly #options: RunningTriggerOptions;
  readonly #ended = new AbortController();
  /** Settles after the last queued message: messages enter the inbox one after another. */
  #firing: Promise<unknown> = Promise.resolve();
  /** Aborts the running `start` of the kind, and its waits. Replaced at each restart. */
  #attempt = new AbortController();
  #wakesAt = -Infinity;
  /** The latest failure, which was logged; undefined once a message was delivered. */
  error: string | undefined;

  constructor(options: RunningTriggerOptions) {
    this.#options = options;
    void this.#start(options.isNew);
  }

  get id(): string {
    return this.#options.stored.id;
  }

  /** Stops the trigger. Resolves when none of its messages is being sent any more. Idempotent. */
  async stop(): Promise<void> {
    this.#ended.abort();
    this.#attempt.abort();
    await this.#firing;
  }

  async #start(isNew: boolean): Promise<void> {
    const round = (this.#attempt = new AbortController());
    const { signal } = round;
    const failed = (thrown: unknown): void => {
      if (signal.aborted) return;
      round.abort();
      void this.#restart(thrown);
    };
    try {
      const stop = await this.#options.kind.start(this.#contextOf(signal, isNew, failed));
      if (stop === undefined) return;
      if (signal.aborted) this.#callStop(stop);
      else signal.addEventListener("abort", () => this.#callStop(stop), { once: true });
    } catch (thrown: unknown) {
      failed(thrown);
    }
  }

  /** Starts the trigger again after a second, as a resumed one. */
  async #restart(thrown: unknown): Promise<void> {
    this.#noteFailure(thrown);
    if (await this.#sleep(RETRY_DELAY_MS, this.#ended.signal, { background: true })) void this.#start(false);
  }

  #contextOf(signal: AbortSignal, isNew: boolean, fail: (thrown: unknown) => void): TriggerContext {
    const { stored, session, channels } = this.#options;
    const { id, settings, addedAt } = stored;
    const lastTick = (): number | undefined => this.#lastTick;
    return {
      id,
      settings,
      addedAt,
      isNew,
      sessionId: session.id,
      channels,
      ports: session.ports,
      signal,
      get lastTick() {
        return lastTick();
      },
      get waiting() {
        return session.trigger(id)?.waiting ?? 0;
      },
      fire: (message, options = {}) => this.#fire(message, options, signal),
      wake: () => this.#wake(signal),
      sleep: (ms, options) => this.#sleep(ms, signal, options),
      fail,
    };
  }

  #fire(message: string, options: FireOptions, signal: AbortSignal): Promise<boolean> {
    checkKnownKeys(options, { tick: true, sender: true, traceparent: true }, "fire()");
    if (typeof message !== "string") throw new ToolError("invalid_argument", "The message of a trigger must be a string.");
    checkTraceparent(options.traceparent, "traceparent of fire()");
    if (options.sender !== undefined) checkString(options.sender, "fire({ sender })", "the name of the sender");
    checkArgument(options.tick === undefined || Number.isFinite(options.tick), "fire({ tick })", "a time in milliseconds", options.tick);
    const firing = this.#firing.then(() => this.#deliver(message, options, signal));
    this.#firing = firing;
    return firing;
  }

  #wake(signal: AbortSignal): void {
    const now = this.#options.session.ports.clock.now();
    if (signal.aborted || now < this.#wakesAt) return;
    this.#wakesAt = now + MIN_WAKE_INTERVAL_MS;
    this.#notify(this.#options.onFire);
  }

  /** Delivers a message. Every message has a tick, by which the session recognizes a message that was sent before. Never rejects. */
  async #deliver(
    message: string,
    { tick, sender = `trigger:${this.id}`, traceparent }: FireOptions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { session, onFire } = this.#options;
    const options = { sender, triggerId: this.id, tick: tick ?? this.#nextTick(), ...omitUndefined({ traceparent }) };
    const sentBefore = this.#sent;
    let isInInbox = false;
    while (!signal.aborted) {
      try {
        await session.receive({ role: "user", content: message }, options);
      } catch (thrown: unknown) {
        isInInbox ||= this.#lastTick === options.tick;
        const { code } = ToolError.fromUnknown(thrown, "execution_failed");
        if (session.closed || code === "not_found") return this.#end(); // the trigger or its session was removed elsewhere
        this.#noteFailure(thrown);
        if (code !== "store_failed") return this.#end(); // another process owns the session now, or the message is invalid
        if (!(await this.#sleep(RETRY_DELAY_MS, signal))) break;
        continue;
      }
      this.error = undefined;
      if (this.#sent !== sentBefore) this.#notify(onFire); // a tick that was delivered before is not a new message
      else if (this.#isPaused && this.#lastTick !== options.tick) return this.#suspend();
      return true;
    }
    return isInInbox;
  }

  /** The next tick, greater than the last one even if the clock was set back. */
  #nextTick(): number {
    const lastTick = this.#lastTick;
    return Math.max(this.#options.session.ports.clock.wallTime(), lastTick === undefined ? -Infinity : lastTick + 1);
  }

  get #lastTick(): number | undefined {
    return this.#options.session.trigger(this.id)?.lastTick;
  }

  get #sent(): number | undefined {
    return this.#options.session.trigger(this.id)?.sent;
  }

  get #isPaused(): boolean {
    return this.#options.session.trigger(this.id)?.paused === true;
  }

  /** Stops until the trigger is resumed: its session was paused directly, and did not receive the message. */
  #suspend(): false {
    this.#attempt.abort();
    void this.#startWhenResumed();
    return false;
  }

  async #startWhenResumed(): Promise<void> {
    while (this.#isPaused) if (!(await this.#sleep(RETRY_DELAY_MS, this.#ended.signal, { background: true }))) return;
    if (!this.#ended.signal.aborted) void this.#start(false);
  }

  #end(): false {
    this.#ended.abort();
    this.#attempt.abort();
    return false;
  }

  #noteFailure(thrown: unknown): void {
    const why = describeThrown(thrown);
    if (why === this.error) return; // already logged, and nothing succeeded since
    this.error = why;
    this.#log.warn(`The trigger ${JSON.stringify(this.id)} failed: ${why}`);
  }

  #notify(onFire: () => void): void {
    notifySafely(onFire, (thrown) => this.#log.warn(`A listener of triggers threw: ${describeThrown(thrown)}`));
  }

  #callStop(stop: () => unknown): void {
    notifySafely(stop, (thrown) => this.#noteFailure(thrown));
  }

  #sleep(ms: number, signal: AbortSignal, options?: { readonly background?: boolean }): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const stop = (): void => {
      cancel();
      resolve(false);
    };
    const fire = (): void => {
      signal.removeEventListener("abort", stop);
      resolve(true);
    };
    const cancel = this.#options.session.ports.clock.timer(fire, Math.max(0, ms), options);
    signal.addEventListener("abort", stop, { once: true });
    return promise;
  }

  get #log(): Ports["log"] {
    return this.#options.session.ports.log;
  }
}
