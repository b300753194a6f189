/** Looks at what triggers have written: each tick and each message of a channel once, and none of a trigger that is not there. */
import type { SessionEvent } from "../../src/core/event.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { Broken } from "./broken.ts";
import type { Disk } from "./disk.ts";

interface Looked {
  lines: number;
  /** The triggers there are, with their latest ticks. */
  readonly triggers: Map<string, number>;
  /** Entries of the inbox that were heard. */
  readonly heard: Set<string>;
  /** Messages of broadcasts. */
  readonly messages: Set<string>;
}

/** Every message of a channel begins so, and has a number of its own. */
export const ON_QUEUE = "on the queue";
export const ON_BROADCAST = "on the broadcast";
/** The messages of schedules. */
export const ON_TIME = "on time";

export class TriggerInvariants {
  readonly #disk: Disk;
  readonly #seen: (point: string) => void;
  readonly #looked = new Map<string, Looked>();
  readonly #fromQueues = new Set<string>();

  constructor(disk: Disk, seen: (point: string) => void) {
    this.#disk = disk;
    this.#seen = seen;
  }

  checkStep(): void {
    for (const [sessionId, { lines }] of this.#disk.logs) {
      const looked = this.#looked.get(sessionId) ?? { lines: 0, triggers: new Map(), heard: new Set(), messages: new Set() };
      this.#looked.set(sessionId, looked);
      for (const { event } of lines.slice(looked.lines)) if (event.sessionId === sessionId) this.#check(event, looked);
      looked.lines = lines.length;
    }
  }

  /** A session that was taken up has the triggers that its log says. */
  checkTakenUp(session: RuntimeSession): void {
    const expected = new Set<string>();
    for (const event of session.log) {
      if (event.sessionId !== session.id) continue;
      if (event.type === "trigger-add") expected.add(event.id);
      if (event.type === "trigger-remove") expected.delete(event.id);
    }
    const ids = session.triggers.map(({ id }) => id);
    if (ids.join() !== [...expected].join())
      throw new Broken(18, `${session.id} has the triggers ${ids.join()}, not ${[...expected].join()}.`);
    if (ids.length > 0) this.#seen("trigger taken up again");
  }

  #check(event: SessionEvent, looked: Looked): void {
    switch (event.type) {
      case "trigger-add":
        if (looked.triggers.has(event.id)) throw new Broken(18, `${event.id} was added twice to ${event.sessionId}.`);
        looked.triggers.set(event.id, -Infinity);
        break;
      case "trigger-remove":
        if (!looked.triggers.delete(event.id)) throw new Broken(18, `${event.id} was removed from ${event.sessionId}, and was not there.`);
        this.#seen("trigger removed");
        break;
      case "inbox-add":
        this.#checkMessage(event, looked);
        break;
      case "message-add": {
        const { inboxId } = event.message;
        if (inboxId !== undefined && looked.heard.has(inboxId)) throw new Broken(18, `${inboxId} was heard twice by ${event.sessionId}.`);
        if (inboxId !== undefined) looked.heard.add(inboxId);
        break;
      }
      default:
    }
  }

  #checkMessage({ sessionId, triggerId = "", tick = NaN, message }: SessionEvent & { readonly type: "inbox-add" }, looked: Looked): void {
    const latest = looked.triggers.get(triggerId);
    if (latest === undefined) throw new Broken(18, `${triggerId} fired in ${sessionId}, and is not there.`);
    if (!(tick > latest)) throw new Broken(18, `${triggerId} fired at ${tick} after ${latest}.`);
    looked.triggers.set(triggerId, tick);
    this.#seen("trigger fired");
    const text = String(message.content);
    if (text === ON_TIME) this.#seen("schedule fired");
    const before = text.startsWith(ON_QUEUE) ? this.#fromQueues : looked.messages;
    if (!text.startsWith(ON_QUEUE) && !text.startsWith(ON_BROADCAST)) return;
    // Several triggers of a session may listen to a broadcast, and each of them hears it.
    const key = text.startsWith(ON_QUEUE) ? text : `${triggerId} ${text}`;
    if (before.has(key)) throw new Broken(18, `"${text}" was heard twice.`);
    before.add(key);
    this.#seen(text.startsWith(ON_QUEUE) ? "message of a queue heard" : "message of a broadcast heard");
  }
}
