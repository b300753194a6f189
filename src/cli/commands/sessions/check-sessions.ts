/** `haft sessions check`: verifies every checksum, and changes nothing. */
import { ERROR_CODES } from "../../../core/error-codes.ts";
import type { Store, StoredSession } from "../../../core/store/store.ts";
import { plural } from "../../../core/base/wording.ts";
import type { Command, CommandContext } from "../../command.ts";
import { allSessions, findSession, withSession, withStore } from "../../open/open-store.ts";
import { Progress } from "../../terminal/progress.ts";
import { waitForDrain } from "../../terminal/wait-for-drain.ts";
import { toOneLine, safeName } from "../../terminal/terminal-text.ts";

export const checkSessions: Command = {
  name: "sessions check",
  usage: "[<id>]",
  summary: "Verify the checksums of one session, or of all.",
  details: [
    "Reads every event and verifies its checksum. A session that is damaged is shown",
    "with the place, and the exit code is 3. With --json one object per session.",
  ],
  args: [0, 1],
  options: ["store", "config"],
  examples: ["haft sessions check", "haft sessions check travel", "haft sessions check --json | jq 'select(.damage)'"],
  async run(context) {
    const [id] = context.args;
    return withStore(context, { readOnly: true }, async (store) => {
      const check = new SessionChecker(context, store);
      if (id === undefined) for await (const session of allSessions(store)) await check.checkSession(session, { own: true });
      else
        await withSession(store, id, async () =>
          check.checkSession((await findSession(store, id)) ?? (await readUnlisted(store, id)), { own: false }),
        );
      return check.printConclusion();
    });
  },
};

/** Returns a session that the store can read but does not list because its record is damaged. @throws ToolError `not_found` */
async function readUnlisted(store: Store, sessionId: string): Promise<StoredSession> {
  await store.read(sessionId, { limit: 1 });
  return { sessionId, createdAt: 0, updatedAt: 0, length: 0 };
}

class SessionChecker {
  readonly #context: CommandContext;
  readonly #store: Store;
  readonly #progress: Progress;
  #sessions = 0;
  #events = 0;
  #damaged = 0;

  constructor(context: CommandContext, store: Store) {
    this.#context = context;
    this.#store = store;
    this.#progress = new Progress(context.err);
  }

  /** Checks one session. @param options `own`: leave out the events that a branch shares with its parent, as the parent is checked too */
  async checkSession(session: StoredSession, options: { readonly own: boolean }): Promise<void> {
    this.#sessions++;
    const from = options.own ? (session.parent?.length ?? 0) + 1 : 1;
    const { events, damage } = await this.#read(session.sessionId, from);
    if (damage !== undefined) this.#damaged++;
    await waitForDrain(this.#context);
    this.#print(session, events, damage);
  }

  printConclusion(): number {
    const { options, out } = this.#context;
    const damaged = this.#damaged === 0 ? "no damage" : `${this.#damaged} damaged`;
    if (!options.json) out.print(`${plural(this.#sessions, "session")}, ${plural(this.#events, "event")}: ${damaged}`);
    return this.#damaged === 0 ? 0 : ERROR_CODES.corrupt_record.exit;
  }

  async #read(sessionId: string, from: number): Promise<{ readonly events: number; readonly damage?: string }> {
    let events = 0;
    let next: number | undefined = from;
    while (next !== undefined) {
      this.#context.signal.throwIfAborted();
      const page = await this.#store.read(sessionId, { from: next });
      events += page.events.length;
      this.#events += page.events.length;
      this.#progress.show(() => `checking: ${plural(this.#sessions, "session")}, ${plural(this.#events, "event")}`);
      if (page.damage !== undefined) return { events, damage: `event ${page.damage.position}: ${page.damage.reason}` };
      ({ next } = page);
    }
    return { events };
  }

  #print({ sessionId, damage: record, parent }: StoredSession, events: number, damage = record): void {
    const { options, out } = this.#context;
    this.#progress.clear();
    if (options.json) {
      out.writeJson({ sessionId, events, ...(damage === undefined ? {} : { damage }) });
      return;
    }
    const mark = damage === undefined ? out.paint("green", "✓") : out.paint("red", "✗");
    const shared = parent === undefined ? "" : ` behind ${plural(parent.length, "event")} of ${safeName(parent.sessionId)}`;
    out.print(
      `${mark} ${toOneLine(sessionId, Infinity)}  ${plural(events, "event")}${damage === undefined ? shared : ` before the damage`}`,
    );
    if (damage !== undefined) out.print(`    ${out.paint("red", toOneLine(damage, Math.max(40, out.width - 4)))}`);
  }
}
