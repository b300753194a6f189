/** The triggers of one session: added, listed, removed, and run while the session's agent runs. */
import { quoteValue } from "../core/base/wording.ts";
import { copyJson, isJsonObject, type JsonObject } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { diffJson } from "../core/base/json-patch.ts";
import { checkVisibleName } from "../core/base/visible-name.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { StoredTrigger } from "../session/inbox.ts";
import type { NewTrigger } from "../session/inbox-events.ts";
import type { Channels } from "./channels.ts";
import { RunningTrigger } from "./running-trigger.ts";
import type { KnownTrigger } from "./known-triggers.ts";
import type { TriggerSession } from "./trigger-session.ts";

/** A trigger to add: its type, and the settings of that type. */
export interface TriggerDefinition {
  /** `timer`, `schedule`, `channel`, or the name of a kind that the program added. */
  readonly type: string;
  /** A stable id: 1 to 128 visible characters. @default a generated id */
  readonly name?: string;
  readonly [setting: string]: unknown;
}

/** A trigger that is declared for all sessions. */
export interface NamedTrigger extends TriggerDefinition {
  readonly name: string;
}

/** The present state of a trigger of a session. */
export interface TriggerStatus {
  readonly id: string;
  readonly type: string;
  readonly settings: JsonObject;
  /** Wall-clock milliseconds since the epoch. */
  readonly addedAt: number;
  /** Number of messages that the trigger has sent. */
  readonly sent: number;
  /** Whether the trigger runs, which it does while an agent of the session runs. */
  readonly running: boolean;
  /** Set while the trigger is paused: it sends nothing until it is resumed. */
  readonly paused?: true;
  /** Why the trigger does not work at present. */
  readonly error?: string;
}

type TriggerSettings = Pick<StoredTrigger, "kind" | "settings">;

export interface SessionTriggersOptions {
  readonly session: TriggerSession;
  readonly kinds: ReadonlyMap<string, KnownTrigger>;
  readonly channels: Channels;
  readonly maxTriggers: number;
  /** Triggers that every session gets. */
  readonly declared: () => Iterable<NamedTrigger>;
}

/** The triggers of one session, made by `Triggers.of`. They are part of the session's log, so a stored session has them again after a restart. */
export class SessionTriggers {
  readonly #options: SessionTriggersOptions;
  readonly #running = new Map<string, RunningTrigger>();
  #onFire: (() => void) | undefined;
  /** Stops all triggers when the session closes: a message that is not received yet would otherwise wait forever. */
  readonly #stopAll = (): void => void this.stop();
  /** Settles after the last queued `add`. Triggers are added one after another, so that they can be counted. */
  #adding: Promise<unknown> = Promise.resolve();
  /** For each trigger that is being resumed, the look-up of the tick where it continues. A pause or removal meanwhile deletes the entry, and wins. */
  readonly #resuming = new Map<string, Promise<number | undefined>>();

  /** @internal */
  constructor(options: SessionTriggersOptions) {
    this.#options = options;
  }

  /** The triggers, in the order they were added. */
  list(): readonly TriggerStatus[] {
    return this.#options.session.triggers.map((stored) => this.#statusOf(stored));
  }

  /** The trigger with this id; undefined if there is none. */
  get(id: string): TriggerStatus | undefined {
    const stored = this.#find(id);
    return stored === undefined ? undefined : this.#statusOf(stored);
  }

  /**
   * When a trigger is due next, in wall-clock milliseconds, if it is a schedule. Undefined if there is no such time, while it is paused, if this
   * program no longer declares it, and if its type cannot tell.
   */
  nextAt(id: string): number | undefined {
    const { session, kinds } = this.#options;
    const stored = this.#find(id);
    return stored === undefined || stored.paused === true || this.#isUndeclared(stored)
      ? undefined
      : kinds.get(stored.kind)?.kind.nextAt?.(stored.settings, session.ports.clock.wallTime());
  }

  /**
   * Adds a trigger, and starts it if an agent of the session runs. Resolves when it is durable.
   *
   * @throws ToolError `invalid_argument` for an unknown type and for invalid settings; `duplicate` for a name in use; `not_found` if a channel does
   * not exist; `limit_exceeded`; `store_failed`. All as a rejection
   */
  async add(definition: TriggerDefinition): Promise<TriggerStatus> {
    if (this.#options.session.isEphemeral === true) throw noSessionError();
    const checked = this.check(definition);
    return this.#enqueue(() => this.#add(checked));
  }

  /** Checks a definition without adding it. @throws ToolError as `add` */
  check(definition: TriggerDefinition): NewTrigger {
    const { session, channels } = this.#options;
    if (typeof definition !== "object" || definition === null)
      throw new ToolError("invalid_argument", "A trigger must be an object with a type and its settings.");
    const { type, name, ...rest } = definition;
    if (name !== undefined) checkVisibleName(name, "The name of a trigger");
    const known = this.#kindOf(type);
    const given = copyJson(rest).value;
    const settings = known.settingsOf(isJsonObject(given) ? given : {}, { sessionId: session.id, channels, ports: session.ports });
    return { id: name === undefined ? session.ports.ids.next("trigger") : name, kind: known.kind.name, settings };
  }

  /**
   * Pauses a trigger until it is resumed, even across a restart; it sends no message from now on. Resolves when the pause is durable, to the
   * trigger's state; undefined if there is no such trigger. Pausing a paused trigger has no effect.
   *
   * @throws ToolError `store_failed`, as a rejection
   */
  async pause(id: string): Promise<TriggerStatus | undefined> {
    await Promise.all([this.#options.session.setTriggerPaused(id, true), this.#stopTrigger(id)]);
    return this.get(id);
  }

  /**
   * Resumes a paused trigger. Times that passed are not caught up: a timer begins a new interval, a schedule waits for its next time. Resolves when
   * that is durable, to the trigger's state; undefined if there is no such trigger.
   *
   * @throws ToolError `store_failed`, and the errors of `latestTick` of its kind, as a rejection; it stays paused then
   */
  async resume(id: string): Promise<TriggerStatus | undefined> {
    const stored = this.#find(id);
    if (stored?.paused === true) await this.#resumeAt(id, this.#resuming.get(id) ?? this.#latestTick(stored));
    this.#startTrigger(id);
    return this.get(id);
  }

  /**
   * Removes a trigger permanently; it sends no message from now on. A trigger that the program declares is added again at the next `start`: pause it
   * instead. Resolves when the removal is durable, to whether there was one.
   */
  async remove(id: string): Promise<boolean> {
    const [wasThere] = await Promise.all([this.#options.session.removeTrigger(id), this.#stopTrigger(id)]);
    return wasThere;
  }

  /**
   * Runs the triggers of the session, including those that were added before a restart. `createAgent` calls it. Timers and schedules keep the process
   * alive until `stop`. Idempotent.
   *
   * @param onFire called when a message of a trigger is durable
   */
  start(onFire: () => void): void {
    this.#onFire = onFire;
    if (this.#options.session.closed) return;
    this.#options.session.whenClosed.addEventListener("abort", this.#stopAll, { once: true });
    const declared = new Map(Array.from(this.#options.declared(), (definition) => [definition.name, definition]));
    for (const stored of this.#options.session.triggers) {
      if (this.#isUndeclared(stored)) this.#options.session.ports.log.warn(formatNotDeclared(stored, this.#options.session.id));
      else if (!declared.has(stored.id)) this.#startTrigger(stored.id);
    }
    for (const definition of declared.values()) void this.#addDeclared(definition);
  }

  /** Stops all triggers; they stay part of the session. Resolves when none of their messages is being sent any more. */
  async stop(): Promise<void> {
    this.#onFire = undefined;
    this.#options.session.whenClosed.removeEventListener("abort", this.#stopAll);
    const running = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(running.map((one) => one.stop()));
  }

  /** Stops a running trigger, and cancels a resume that is in progress. Resolves when none of its messages is being sent any more. */
  async #stopTrigger(id: string): Promise<void> {
    this.#resuming.delete(id);
    await this.#stopRunning(id);
  }

  async #stopRunning(id: string): Promise<void> {
    const running = this.#running.get(id);
    this.#running.delete(id);
    await running?.stop();
  }

  #enqueue<Result>(add: () => Promise<Result>): Promise<Result> {
    const adding = this.#adding.then(add);
    this.#adding = adding.catch(() => {}); // its caller gets the error
    return adding;
  }

  async #add({ id, ...added }: NewTrigger): Promise<TriggerStatus> {
    const { session, maxTriggers } = this.#options;
    if (this.#find(id) === undefined && session.triggers.length >= maxTriggers)
      throw new ToolError("limit_exceeded", `The session already has ${maxTriggers} triggers.`, {
        hint: "Remove one that is no longer needed.",
      });
    const lastTick = await this.#latestTick(added);
    if (this.#find(id) === undefined) await this.#stopRunning(id); // one of this name that was removed from the session directly
    await session.addTrigger({ id, ...added, ...omitUndefined({ lastTick }) });
    const stored = this.#find(id);
    if (stored === undefined) throw new ToolError("conflict", `The trigger ${JSON.stringify(id)} was removed while it was being added.`);
    this.#runAdded(stored, true);
    return this.#statusOf(stored);
  }

  async #declare(checked: NewTrigger): Promise<void> {
    const before = this.#find(checked.id); // an earlier start may have added it
    if (before === undefined) await this.#add(checked);
    else if (isSame(before, checked)) this.#startTrigger(checked.id);
    else await this.#replace(checked, before);
  }

  /** Replaces the settings of a trigger, which stops meanwhile. If only the prompt changed, it continues at its last tick, missing none. */
  async #replace({ id, ...added }: NewTrigger, before: StoredTrigger): Promise<void> {
    await this.#stopRunning(id);
    const continues = before.kind === added.kind && hasSameSource(before.settings, added.settings);
    const { lastTick = before.addedAt } = this.#find(id) ?? before;
    const tick = continues ? lastTick : await this.#latestTick(added);
    await this.#options.session.replaceTrigger({ id, ...added, ...omitUndefined({ lastTick: tick }) });
    const stored = this.#find(id);
    if (stored !== undefined) this.#runAdded(stored, !continues);
  }

  #runAdded(stored: StoredTrigger, isNew: boolean): void {
    if (this.#onFire !== undefined && stored.paused !== true && !this.#running.has(stored.id)) this.#run(stored, isNew);
  }

  async #resumeAt(id: string, startTick: Promise<number | undefined>): Promise<void> {
    this.#resuming.set(id, startTick);
    try {
      const lastTick = await startTick;
      if (this.#resuming.get(id) === startTick) await this.#options.session.setTriggerPaused(id, false, { lastTick });
    } finally {
      if (this.#resuming.get(id) === startTick) this.#resuming.delete(id);
    }
  }

  /** The tick where a trigger begins that reads from somewhere; undefined if its kind is unknown here or has no `latestTick`. */
  async #latestTick({ kind, settings }: TriggerSettings): Promise<number | undefined> {
    const { session, channels, kinds } = this.#options;
    return kinds.get(kind)?.kind.latestTick?.(settings, { sessionId: session.id, channels, ports: session.ports });
  }

  /** Starts a trigger that is not paused, if an agent of the session runs. */
  #startTrigger(id: string): void {
    const stored = this.#find(id);
    if (stored === undefined || stored.paused === true || this.#onFire === undefined || this.#running.has(id)) return;
    if (this.#isUndeclared(stored)) return;
    this.#run(stored, false);
  }

  #run(stored: StoredTrigger, isNew: boolean): void {
    const { session, channels, kinds } = this.#options;
    const known = kinds.get(stored.kind);
    if (known === undefined) {
      session.ports.log.warn(
        `The trigger ${JSON.stringify(stored.id)} does not run: there is no trigger type ${JSON.stringify(stored.kind)} here.`,
      );
      return;
    }
    const onFire = (): void => this.#onFire?.();
    this.#running.set(stored.id, new RunningTrigger({ kind: known.kind, stored, isNew, session, channels, onFire }));
  }

  /** Adds a declared trigger that the session lacks, replaces one whose settings have changed, and otherwise starts it. Never rejects. */
  async #addDeclared(definition: NamedTrigger): Promise<void> {
    const { session } = this.#options;
    try {
      const checked = { ...this.check(definition), declared: true } as const;
      const before = this.#find(checked.id);
      if (before !== undefined && isSame(before, checked)) this.#startTrigger(checked.id);
      else await this.#enqueue(() => this.#declare(checked));
    } catch (thrown: unknown) {
      session.ports.log.warn(`The trigger ${JSON.stringify(definition.name)} could not be added: ${describeThrown(thrown)}`);
      this.#startTrigger(definition.name); // with its earlier settings, if it was there
    }
  }

  /** Whether the trigger was declared, but not by this program: another version of it may still declare it. */
  #isUndeclared({ id, declared }: StoredTrigger): boolean {
    return declared === true && ![...this.#options.declared()].some(({ name }) => name === id);
  }

  #find(id: string): StoredTrigger | undefined {
    return this.#options.session.trigger(id);
  }

  #kindOf(type: unknown): KnownTrigger {
    const { kinds } = this.#options;
    const known = typeof type === "string" ? kinds.get(type) : undefined;
    if (known !== undefined) return known;
    const names = [...kinds.keys()];
    throw new ToolError(
      "invalid_argument",
      `There is no trigger type ${quoteValue(typeof type === "string" ? type.slice(0, 100) : type)}.`,
      {
        hint: didYouMean(typeof type === "string" ? type : "", names) ?? `Known types: ${names.join(", ")}.`,
      },
    );
  }

  #statusOf(stored: StoredTrigger): TriggerStatus {
    const { id, kind, settings, addedAt, sent, paused } = stored;
    const running = this.#running.get(id);
    const error = this.#isUndeclared(stored) ? NOT_DECLARED : running?.error;
    return { id, type: kind, settings, addedAt, sent, running: running !== undefined, ...omitUndefined({ paused, error }) };
  }
}

function isSame(one: TriggerSettings, other: TriggerSettings): boolean {
  return one.kind === other.kind && diffJson(one.settings, other.settings).length === 0;
}

/** Whether two settings give the same ticks. The prompt does not affect when a message is sent. */
function hasSameSource({ prompt: _before, ...before }: JsonObject, { prompt: _now, ...now }: JsonObject): boolean {
  return diffJson(before, now).length === 0;
}

/** The error of a trigger that was declared, but not by this program. */
export const NOT_DECLARED = "It is no longer in the configuration of this program.";

function formatNotDeclared({ id }: StoredTrigger, sessionId: string): string {
  const [trigger, session] = [JSON.stringify(id), JSON.stringify(sessionId)];
  return `The trigger ${trigger} of the session ${session} was stopped: it is no longer in the configuration. Remove it from the session, or declare it again.`;
}

function noSessionError(): ToolError {
  return new ToolError("unavailable", "Triggers need a session: a call outside of one has no agent to wake.");
}
