/**
 * Claims that failed and may have been made all the same: the answer to the statement that made them may be lost. Until they are given up,
 * no process could open these sessions while this one lives.
 */
import type { Kysely } from "kysely";
import { isToolError } from "../../core/error.ts";
import type { ClaimAnswer } from "../records/log-database.ts";
import { ownerAfter, type Owner } from "./owner.ts";
import type { Tables } from "./tables.ts";

export class DoubtfulClaims {
  readonly #owner: Owner;
  /** Stored ids of sessions that are not open here. */
  readonly #ids = new Set<string>();
  /** Never rejects. */
  #givingUp: Promise<void> | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /**
   * Runs a claim, and notes its session where it rejects and this owner may have the session. Called with whether an earlier one did: the owner
   * before that is not known any more, and may have left the session open.
   */
  async watch(id: string, claim: (isDoubtful: boolean) => Promise<ClaimAnswer>): Promise<ClaimAnswer> {
    // A claim that is made meanwhile would be given up too
    while (this.#givingUp !== undefined) await this.#givingUp;
    const isDoubtful = this.#ids.delete(id);
    try {
      const answer = await claim(isDoubtful);
      if (isDoubtful && !answer.claimed) this.#ids.add(id); // it is asked again
      return answer;
    } catch (error: unknown) {
      if (!isToolError(error) || !OF_OTHERS.has(error.code)) this.#ids.add(id);
      throw error;
    }
  }

  /** To be called for a session that is created here. */
  forget(id: string): void {
    this.#ids.delete(id);
  }

  /** Gives them up. Where it rejects, the next call does. */
  async giveUp(tables: Kysely<Tables>): Promise<void> {
    while (this.#givingUp !== undefined) await this.#givingUp;
    const { id: owner } = this.#owner;
    if (this.#ids.size === 0 || owner === undefined) return;
    const ids = [...this.#ids];
    const work = giveUp(tables, { owner, ids });
    this.#givingUp = work.catch(() => {}); // this call rejects with it
    try {
      await work;
      for (const id of ids) this.#ids.delete(id);
    } finally {
      this.#givingUp = undefined;
    }
  }
}

/** The session is another process's, or there is none. */
const OF_OTHERS: ReadonlySet<string> = new Set(["resource_busy", "not_found"]);

async function giveUp(tables: Kysely<Tables>, { owner, ids }: { readonly owner: string; readonly ids: readonly string[] }): Promise<void> {
  const claimed = await tables
    .selectFrom("haft_session")
    .select(["id", "epoch"])
    .where("owner", "=", owner)
    .where("id", "in", ids)
    .execute();
  for (const { id, epoch } of claimed)
    await tables
      .updateTable("haft_session")
      .set({ owner: ownerAfter({ leavesOpen: true }) }) // its last owner may have, and is not known any more
      .where("id", "=", id)
      .where("owner", "=", owner)
      .where("epoch", "=", epoch) // should this arrive late, a later claim is not given up
      .execute();
}
