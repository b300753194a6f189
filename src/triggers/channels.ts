/** The channels of a program: shared by all agents, or private to one agent. */
import { ToolError } from "../core/error.ts";
import { checkString } from "../core/check-argument.ts";
import { plural, quoteValue } from "../core/base/wording.ts";
import { checkVisibleName } from "../core/base/visible-name.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Ports } from "../core/ports.ts";
import { completePorts } from "../core/system/safe-log.ts";
import type { Store } from "../core/store/store.ts";
import { Channel, DEFAULT_CAPACITY, type ChannelOptions } from "./channel.ts";
import { checkWhenFull } from "./new-message.ts";
import { StoredMessages } from "./stored-messages.ts";

/** Options of `createChannels`. */
export interface ChannelsOptions {
  /** Clock, ids and log, for tests. @default the system's */
  readonly ports?: Partial<Ports>;
  /**
   * Keeps the messages of shared channels until their readers have received them, for all processes of the store. Pass the runtime's store. A store
   * without `channels` keeps none. @default messages are kept in memory
   */
  readonly store?: Pick<Store, "follow" | "channels">;
}

/** Which agent a channel belongs to. */
export interface ChannelOwner {
  /** The session of the agent that the channel is private to; other agents can neither see nor reach it. @default all agents share it */
  readonly sessionId?: string;
}

const OPEN_OPTIONS: OptionNames<ChannelOptions & ChannelOwner> = {
  kind: true,
  description: true,
  capacity: true,
  whenFull: true,
  sessionId: "string",
};
const MAX_NAME_LENGTH = 128;

/** Makes a set of channels. Share it between the agents and tools that are to exchange messages. */
export function createChannels(options: ChannelsOptions = {}): Channels {
  checkKnownKeys(options, { ports: "object", store: true }, "createChannels()");
  return new Channels(completePorts(options.ports), options.store);
}

/**
 * Channels by name, made by `createChannels`. Without a store they are in memory: a message becomes durable once a trigger has put it into an agent's
 * inbox. Channels that are private to one agent are always in memory.
 */
export class Channels {
  readonly #ports: Ports;
  readonly #store: ChannelsOptions["store"];
  readonly #shared = new Map<string, Channel>();
  readonly #private = new Map<string, Map<string, Channel>>();

  /** @internal */
  constructor(ports: Ports, store?: ChannelsOptions["store"]) {
    this.#ports = ports;
    this.#store = store;
  }

  /**
   * Returns the channel of this name, and makes it if there is none.
   *
   * @throws ToolError `invalid_argument`; `conflict` if the channel exists with other options
   */
  open(name: string, options: ChannelOptions & ChannelOwner = {}): Channel {
    checkKnownKeys(options, OPEN_OPTIONS, "open()");
    const { sessionId, ...own } = options;
    checkVisibleName(name, "The name of a channel");
    checkOptions(own);
    const channels = this.#channelsOf(sessionId);
    const channel = channels.get(name);
    if (channel === undefined) {
      const newChannel = new Channel(name, own, {
        ports: this.#ports,
        stored: sessionId === undefined ? this.#storedMessagesOf(name, own) : undefined,
      });
      channels.set(name, newChannel);
      return newChannel;
    }
    for (const key of ["kind", "capacity", "whenFull"] as const)
      if (own[key] !== undefined && own[key] !== channel[key])
        throw new ToolError("conflict", `The channel ${JSON.stringify(name)} is open with ${key} ${channel[key]}, not ${own[key]}.`);
    return channel;
  }

  /** The channel that a name means to an agent: its own, or else the shared one; undefined if there is none. */
  find(name: string, sessionId?: string): Channel | undefined {
    checkString(name, "find() of channels", "the name of a channel");
    if (sessionId !== undefined) checkString(sessionId, "find(name, sessionId) of channels", "the id of a session");
    return (sessionId === undefined ? undefined : this.#private.get(sessionId)?.get(name)) ?? this.#shared.get(name);
  }

  /** As `find`. @throws ToolError `not_found`, with the names of existing channels */
  get(name: string, sessionId?: string): Channel {
    const channel = this.find(name, sessionId);
    if (channel !== undefined) return channel;
    const names = this.list(sessionId).map((one) => one.name);
    throw new ToolError("not_found", `There is no channel ${quoteName(name)}.`, {
      hint: names.length === 0 ? "There are no channels." : `Channels: ${names.slice(0, 50).join(", ")}.`,
    });
  }

  /** The channels that an agent can reach: its own, then the shared channels whose names none of its own has. */
  list(sessionId?: string): readonly Channel[] {
    if (sessionId !== undefined) checkString(sessionId, "list() of channels", "the id of a session");
    const own = sessionId === undefined ? undefined : this.#private.get(sessionId);
    return [...(own?.values() ?? []), ...[...this.#shared.values()].filter(({ name }) => own?.has(name) !== true)];
  }

  /**
   * Adds an existing channel to an agent's own channels. A group is the set of agents that were given its channels.
   *
   * @throws ToolError `conflict` if the agent has another channel of that name
   */
  give(channel: Channel, sessionId: string): void {
    const channels = this.#channelsOf(sessionId);
    const own = channels.get(channel.name);
    if (own !== undefined && own !== channel)
      throw new ToolError("conflict", `The session ${quoteName(sessionId)} has another channel ${quoteName(channel.name)}.`);
    channels.set(channel.name, channel);
  }

  /**
   * Forgets a shared channel, and the messages that wait on it in memory; a send that waits for room there rejects with `cancelled`. Messages in a
   * store stay there, and agents that were given the channel keep it. Returns whether there was one.
   *
   * @throws ToolError `conflict` while it has subscribers in this program
   */
  remove(name: string): boolean {
    checkString(name, "remove() of channels", "the name of a channel");
    const channel = this.#shared.get(name);
    if (channel !== undefined && channel.subscribers > 0)
      throw new ToolError(
        "conflict",
        `The channel ${quoteName(name)} has ${plural(channel.subscribers, "subscriber")}: it cannot be removed.`,
        {
          hint: "First end the subscriptions and the triggers that read it.",
        },
      );
    const isGiven = [...this.#private.values()].some((own) => own.get(name) === channel);
    if (!isGiven) channel?.rejectSenders();
    return this.#shared.delete(name);
  }

  /** Forgets the channels of one agent. */
  forget(sessionId: string): void {
    this.#private.delete(sessionId);
  }

  #storedMessagesOf(name: string, { kind = "queue", capacity = DEFAULT_CAPACITY }: ChannelOptions): StoredMessages | undefined {
    const { channels, follow } = this.#store ?? {};
    if (channels === undefined || follow === undefined) return undefined;
    const store = { channels, follow: (listener: Parameters<typeof follow>[0]) => follow.call(this.#store, listener) };
    return new StoredMessages({ store, ports: this.#ports, name, isQueue: kind === "queue", capacity });
  }

  #channelsOf(sessionId: string | undefined): Map<string, Channel> {
    if (sessionId === undefined) return this.#shared;
    const channels = this.#private.get(sessionId) ?? new Map<string, Channel>();
    this.#private.set(sessionId, channels);
    return channels;
  }
}

function quoteName(name: unknown): string {
  return typeof name === "string" ? JSON.stringify(name.slice(0, MAX_NAME_LENGTH)) : String(name);
}

function checkOptions({ kind = "queue", capacity = 1, whenFull = "wait", description = "" }: ChannelOptions): void {
  if (kind !== "queue" && kind !== "broadcast")
    throw new ToolError("invalid_argument", `The kind of a channel is ${quoteValue(kind)}; it takes "queue" or "broadcast".`);
  if (!Number.isSafeInteger(capacity) || capacity < 1)
    throw new ToolError("invalid_argument", `capacity of a channel is ${quoteValue(capacity)}; it takes an integer of at least 1.`);
  if (typeof description !== "string") throw new ToolError("invalid_argument", "The description of a channel must be a string.");
  checkWhenFull(whenFull);
}
