/** How many delegates run at once in one conversation, those that delegates call included. */
import { ToolError } from "../../core/error.ts";
import { plural } from "../../core/base/wording.ts";

export class RunningDelegates {
  readonly #most: number;
  /** By the session that people or programs talk to. */
  readonly #running = new WeakMap<object, number>();
  /** Sessions of delegates, with the one that it all began in. */
  readonly #roots = new WeakMap<object, object>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a place, and returns how it is left. @throws ToolError `resource_busy` */
  enter(session: object, name: string): () => void {
    const root = this.#rootOf(session);
    const running = this.#running.get(root) ?? 0;
    if (running >= this.#most)
      throw new ToolError(
        "resource_busy",
        `${name} was not begun: ${plural(running, "delegate runs", "delegates run")} already, and that is the limit.`,
        {
          outcome: "not_started",
          hint: "Call it again when one of them has ended, or do the task without it.",
        },
      );
    this.#running.set(root, running + 1);
    return () => void this.#running.set(root, (this.#running.get(root) ?? 1) - 1);
  }

  /** @param session of a delegate, begun in a call of that one */
  belongs(session: object, caller: object): void {
    this.#roots.set(session, this.#rootOf(caller));
  }

  #rootOf(session: object): object {
    return this.#roots.get(session) ?? session;
  }
}
