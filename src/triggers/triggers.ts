/** The triggers of all sessions of a program, their kinds, and the channels that they read. */
import { quoteValue } from "../core/base/wording.ts";
import { checkVisibleName } from "../core/base/visible-name.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { channelTrigger } from "./channel-trigger.ts";
import { Channels, createChannels } from "./channels.ts";
import { knownTriggers, type KnownTrigger } from "./known-triggers.ts";
import { scheduleTrigger } from "./schedule-trigger.ts";
import { SessionTriggers, type NamedTrigger } from "./session-triggers.ts";
import { timerTrigger } from "./timer-trigger.ts";
import type { Trigger } from "./trigger.ts";
import type { TriggerSession } from "./trigger-session.ts";

/** Options of `createTriggers`. */
export interface TriggersOptions {
  /** The channels that agents watch. @default new ones */
  readonly channels?: Channels;
  /** Kinds of triggers besides `timer`, `schedule` and `channel`. */
  readonly kinds?: readonly Trigger[];
  /** Maximum number of triggers of one session. Integer ≥ 1. @default 100 */
  readonly maxTriggers?: number;
}

const OPTIONS: OptionNames<TriggersOptions> = { channels: true, kinds: true, maxTriggers: true };

/** Makes the triggers of a program, which its agents and its toolsets share. @throws ToolError `invalid_argument`, `duplicate` */
export function createTriggers(options: TriggersOptions = {}): Triggers {
  checkKnownKeys(options, OPTIONS, "createTriggers()");
  const { channels = createChannels(), kinds = [], maxTriggers = 100 } = options;
  if (!(channels instanceof Channels))
    throw new ToolError("invalid_argument", "The channels of createTriggers() must come from createChannels().");
  if (!Array.isArray(kinds)) throw new ToolError("invalid_argument", "The kinds of createTriggers() must be an array of triggers.");
  if (!Number.isSafeInteger(maxTriggers) || maxTriggers < 1)
    throw new ToolError(
      "invalid_argument",
      `maxTriggers of createTriggers() is ${quoteValue(maxTriggers)}; it takes an integer of at least 1.`,
    );
  return new Triggers(channels, knownTriggers([timerTrigger, scheduleTrigger, channelTrigger, ...kinds]), maxTriggers);
}

/** The triggers of all sessions, made by `createTriggers`. */
export class Triggers {
  readonly channels: Channels;
  /** The known kinds, by name. @internal */
  readonly kinds: ReadonlyMap<string, KnownTrigger>;
  readonly #maxTriggers: number;
  readonly #declared = new Map<string, NamedTrigger>();
  readonly #bySession = new WeakMap<TriggerSession, SessionTriggers>();

  /** @internal */
  constructor(channels: Channels, kinds: ReadonlyMap<string, KnownTrigger>, maxTriggers: number) {
    this.channels = channels;
    this.kinds = kinds;
    this.#maxTriggers = maxTriggers;
  }

  /**
   * Declares a trigger that every session gets when its triggers start. If a session already has a trigger of this name, it stays, unless its
   * settings have changed. In a program that does not declare it, such as one with a newer configuration, the trigger stays part of the session but
   * does not run, and a warning is logged.
   *
   * @throws ToolError as `SessionTriggers.add`; `duplicate` for a name that was declared before
   */
  declare(definition: NamedTrigger): void {
    const { name } = definition;
    if (name === undefined)
      throw new ToolError("invalid_argument", "A declared trigger needs a name, which identifies it after a restart.");
    checkVisibleName(name, "The name of a trigger");
    if (this.#declared.has(name)) throw new ToolError("duplicate", `The trigger ${JSON.stringify(name)} is already declared.`);
    this.#declared.set(name, definition);
  }

  /** The triggers of one session; the same object each time. */
  of(session: TriggerSession): SessionTriggers {
    checkArgument(hasMethods(session, "receive"), "of() of triggers", "a session", session, "runtime.session() begins one.");
    const before = this.#bySession.get(session);
    if (before !== undefined) return before;
    const { channels, kinds } = this;
    const declared = (): Iterable<NamedTrigger> => this.#declared.values();
    const sessionTriggers = new SessionTriggers({ session, kinds, channels, maxTriggers: this.#maxTriggers, declared });
    this.#bySession.set(session, sessionTriggers);
    return sessionTriggers;
  }
}
