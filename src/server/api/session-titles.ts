/** Titles of sessions for lists: the beginning of a log, read once and kept. */
import type { SessionEvent } from "../../core/event.ts";
import type { Store } from "../../core/store.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { ApiSession } from "./component-types.ts";

/** So many events of a log are looked at. */
const LOOKED_AT = 6;
const MAX_CHARS = 200;
/** So many titles are kept. */
const MAX_KEPT = 10_000;

export class SessionTitles {
  readonly #store: Store | undefined;
  /** By the ids of sessions, of those that began then; "" where the beginning of the log has none. */
  readonly #kept = new Map<string, { readonly createdAt: number | undefined; readonly title: string }>();

  constructor(store: Store | undefined) {
    this.#store = store;
  }

  /** The session with its title: the first message of a user or the first tool that was called, whichever came first. Never rejects. */
  async entitled(session: ApiSession, open?: RuntimeSession): Promise<ApiSession> {
    const title = await this.#titleOf(session, open);
    return title === "" ? session : { ...session, title };
  }

  async #titleOf({ id, createdAt, length, damage }: ApiSession, open: RuntimeSession | undefined): Promise<string> {
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.createdAt === createdAt) return kept.title;
    if (damage !== undefined || length === 0) return "";
    const title = titleIn(await this.#beginning(id, open));
    if (title !== "" || length >= LOOKED_AT) this.#keep(id, { createdAt, title });
    return title;
  }

  /** Empty where it cannot be read: the session is listed all the same. */
  async #beginning(id: string, open: RuntimeSession | undefined): Promise<readonly SessionEvent[]> {
    if (this.#store === undefined) return open?.log.slice(0, LOOKED_AT) ?? [];
    const page = await this.#store.read(id, { limit: LOOKED_AT }).catch(() => undefined);
    return page?.events ?? [];
  }

  #keep(id: string, kept: { readonly createdAt: number | undefined; readonly title: string }): void {
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function titleIn(events: readonly SessionEvent[]): string {
  for (const event of events) {
    if (event.type === "call-start" && typeof event.call.name === "string") return event.call.name.slice(0, MAX_CHARS);
    if ((event.type !== "message-add" && event.type !== "inbox-add") || event.message.role !== "user") continue;
    const { content } = event.message;
    const text = typeof content === "string" ? content : (content.find((part) => part.type === "text")?.text ?? "");
    // More than is kept, of which spaces may be a part.
    const title = text
      .slice(0, 4 * MAX_CHARS)
      .trim()
      .replaceAll(/\s+/gu, " ");
    if (title !== "") return title.length > MAX_CHARS ? `${title.slice(0, MAX_CHARS - 1)}…` : title;
  }
  return "";
}
