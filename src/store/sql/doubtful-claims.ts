/** Claims that failed but may have been made, because the answer was lost. Until released, they keep all processes from the sessions. */
import type { Kysely } from "kysely";
import { isToolError } from "../../core/error.ts";
import type { ClaimAnswer } from "../records/log-database.ts";
import { ownerAfterRelease, type Owner } from "./owner.ts";
import type { Tables } from "./tables.ts";

export class DoubtfulClaims {
  readonly #owner: Owner;
  /** Stored ids of sessions that this owner may have claimed but that are not open here. */
  readonly #ids = new Set<string>();
  /** The release in progress. Never rejects. */
  #releasing: Promise<void> | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /**
   * Runs a claim, and notes its session if the claim rejects and this owner may have the session. `claim` is called with whether an earlier claim was
   * doubtful: the owner before it is unknown then, and may have left the session open.
   */
  async runClaim(id: string, claim: (isDoubtful: boolean) => Promise<ClaimAnswer>): Promise<ClaimAnswer> {
    // a claim made during a release would be released too
    while (this.#releasing !== undefined) await this.#releasing;
    const isDoubtful = this.#ids.delete(id);
    try {
      const answer = await claim(isDoubtful);
      if (isDoubtful && !answer.claimed) this.#ids.add(id); // the caller continues the claim
      return answer;
    } catch (error: unknown) {
      if (!isToolError(error) || !NOT_CLAIMED_CODES.has(error.code)) this.#ids.add(id);
      throw error;
    }
  }

  /** Must be called when a session of this id is created here. */
  remove(id: string): void {
    this.#ids.delete(id);
  }

  /** Releases the doubtful claims. If it rejects, the next call tries again. */
  async releaseAll(tables: Kysely<Tables>): Promise<void> {
    while (this.#releasing !== undefined) await this.#releasing;
    const { id: owner } = this.#owner;
    if (this.#ids.size === 0 || owner === undefined) return;
    const ids = [...this.#ids];
    const work = releaseClaims(tables, { owner, ids });
    this.#releasing = work.catch(() => {}); // this call rejects with the error
    try {
      await work;
      for (const id of ids) this.#ids.delete(id);
    } finally {
      this.#releasing = undefined;
    }
  }
}

/** Codes of errors that prove that this owner does not have the session: another process has it, or it does not exist. */
const NOT_CLAIMED_CODES: ReadonlySet<string> = new Set(["resource_busy", "not_found"]);

async function releaseClaims(
  tables: Kysely<Tables>,
  { owner, ids }: { readonly owner: string; readonly ids: readonly string[] },
): Promise<void> {
  const claimed = await tables
    .selectFrom("haft_session")
    .select(["id", "epoch"])
    .where("owner", "=", owner)
    .where("id", "in", ids)
    .execute();
  for (const { id, epoch } of claimed)
    await tables
      .updateTable("haft_session")
      .set({ owner: ownerAfterRelease({ leavesOpen: true }) }) // its earlier owner is unknown, and may have left it open
      .where("id", "=", id)
      .where("owner", "=", owner)
      .where("epoch", "=", epoch) // if this statement arrives late, it does not release a later claim
      .execute();
}
