/** The events of sessions read from their logs, and followed as they happen. */
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";
import type { Store } from "../../core/store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { EventFeed, EventFilter, PlacedEvent } from "./event-feed.ts";
import { noSession } from "./session-pool.ts";

/** Characters that wait for a slow reader before the stream is cut; the reader continues from its cursor. */
const MAX_WAITING = 1_048_576;
const PAGE = 500;
const SESSION_EVENTS: ReadonlySet<string> = new Set<SessionEvent["type"]>([
  "session-start",
  "message-add",
  "inbox-add",
  "trigger-add",
  "trigger-remove",
  "batch-start",
  "call-start",
  "call-intent",
  "call-remote",
  "state-change",
  "call-end",
  "job-start",
  "job-run",
  "job-output",
  "job-input",
  "job-end",
  "output-keep",
  "outcome-resolve",
  "round-end",
  "batch-rollback",
  "branch-commit",
]);

interface Reader {
  onEvent(event: RuntimeEvent): void;
  close(): void;
}

export class SessionEvents implements EventFeed {
  readonly #runtime: Runtime;
  readonly #store: Store | undefined;
  readonly #readers = new Set<Reader>();
  readonly #unsubscribe: () => void;

  constructor(runtime: Runtime, store: Store | undefined) {
    this.#runtime = runtime;
    this.#store = store;
    this.#unsubscribe = runtime.subscribe((event) => {
      for (const reader of this.#readers) reader.onEvent(event);
    });
  }

  async page(
    sessionId: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly PlacedEvent[]; readonly next?: number }> {
    const open = this.#runtime.sessions.get(sessionId);
    const events = open?.logSince(after)?.slice(0, limit) ?? (await this.#readStored(sessionId, after, limit));
    const placed = events.map((event, index) => ({ position: after + index + 1, event }));
    const last = placed.at(-1)?.position;
    return last === undefined || events.length < limit ? { events: placed } : { events: placed, next: last };
  }

  stream(
    filter: EventFilter,
    { after, signal }: { readonly after?: string | number; readonly signal: AbortSignal },
  ): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let reader: Reader | undefined;
    const leave = (): void => {
      if (reader !== undefined) this.#readers.delete(reader);
      reader = undefined;
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const send = (text: string): void => {
            if ((controller.desiredSize ?? 0) <= 0) return end("gap");
            controller.enqueue(encoder.encode(text));
          };
          const end = (event: "gap" | "draining"): void => {
            if (reader === undefined) return;
            leave();
            controller.enqueue(encoder.encode(`retry: 1000\nevent: ${event}\ndata: {}\n\n`));
            controller.close();
          };
          const { sessionId } = filter;
          const follower =
            sessionId === undefined ? undefined : new Follower(filter, Number(after ?? 0), (from) => this.#tail(sessionId, from), send);
          reader = {
            onEvent: (event) => (follower === undefined ? fits(filter, event) && send(written(event)) : follower.notice(event)),
            close: () => end("draining"),
          };
          this.#readers.add(reader);
          send(": events\n\n");
          signal.addEventListener("abort", leave, { once: true });
          void follower?.pump().catch(() => end("gap"));
        },
        cancel: leave,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING }),
    );
  }

  close(): void {
    this.#unsubscribe();
    for (const reader of this.#readers) reader.close();
  }

  async #tail(sessionId: string, from: number): Promise<readonly SessionEvent[]> {
    return (await this.page(sessionId, { after: from, limit: PAGE })).events.map(({ event }) => event);
  }

  async #readStored(sessionId: string, after: number, limit: number): Promise<readonly SessionEvent[]> {
    try {
      if (this.#store !== undefined) return (await this.#store.read(sessionId, { from: after + 1, limit })).events;
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "store_failed");
      if (error.code !== "not_found") throw error;
    }
    throw noSession(sessionId);
  }
}

/** Follows one session: what its log has is read from there, so that each event comes once and in order. */
class Follower {
  readonly #filter: EventFilter;
  /** A branch has events of its parent, which keep that one's id. */
  readonly #ofAny: EventFilter;
  readonly #read: (from: number) => Promise<readonly SessionEvent[]>;
  readonly #send: (text: string) => void;
  #position: number;
  #pumping = false;
  #isDue = false;

  constructor(
    filter: EventFilter,
    position: number,
    read: (from: number) => Promise<readonly SessionEvent[]>,
    send: (text: string) => void,
  ) {
    this.#filter = filter;
    const { sessionId: _own, ...ofAny } = filter;
    this.#ofAny = ofAny;
    this.#position = position;
    this.#read = read;
    this.#send = send;
  }

  notice(event: RuntimeEvent): void {
    if (!("sessionId" in event) || event.sessionId !== this.#filter.sessionId) return;
    if (SESSION_EVENTS.has(event.type)) void this.pump().catch(() => {});
    else if (fits(this.#filter, event)) this.#send(written(event));
  }

  async pump(): Promise<void> {
    this.#isDue = true;
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#isDue) {
        this.#isDue = false;
        const events = await this.#read(this.#position);
        for (const event of events) {
          this.#position++;
          if (fits(this.#ofAny, event)) this.#send(written(event, this.#position));
        }
        this.#isDue ||= events.length > 0;
      }
    } finally {
      this.#pumping = false;
    }
  }
}

function fits({ sessionId, types, tool }: EventFilter, event: RuntimeEvent): boolean {
  if (sessionId !== undefined && !("sessionId" in event && event.sessionId === sessionId)) return false;
  if (types !== undefined && !types.includes(event.type)) return false;
  return tool === undefined || ("toolName" in event && event.toolName === tool);
}

function written(event: RuntimeEvent, position?: number): string {
  return `${position === undefined ? "" : `id: ${position}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
