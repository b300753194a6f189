/** The statements that write the rows of jobs, compiled when first needed. */
import type { CompiledQuery, Kysely } from "kysely";
import type { JobChange } from "../records/job-changes.ts";
import { enqueueStatement, messageValues } from "./sql-webhooks.ts";
import { createJobMessage } from "../records/webhook-messages.ts";
import { parseStoredText, toStoredText } from "../records/stored-text.ts";
import type { Tables } from "./tables.ts";

/** A compiled statement and its parameters. */
export interface JobStatement {
  readonly query: CompiledQuery;
  readonly parameters: readonly unknown[];
}

export class JobStatements {
  readonly #tables: Kysely<Tables>;
  #enqueue: CompiledQuery | undefined;
  #queries: Readonly<Record<JobChange["type"], CompiledQuery>> | undefined;

  constructor(tables: Kysely<Tables>) {
    this.#tables = tables;
  }

  /** The statement for a change, and at its end the statement that queues its webhook messages. @param session as in the table */
  statementsFor(session: string, change: JobChange): readonly JobStatement[] {
    const own = this.statementFor(session, change);
    if (change.type !== "end") return [own];
    const message = createJobMessage(parseStoredText(session), change);
    this.#enqueue ??= enqueueStatement(this.#tables, message);
    return [own, { query: this.#enqueue, parameters: messageValues(message) }];
  }

  /** The statement for a change. @param session as in the table */
  statementFor(session: string, change: JobChange): JobStatement {
    const query = (this.#queries ??= compileJobStatements(this.#tables))[change.type];
    return { query, parameters: parametersOf(session, change) };
  }
}

function compileJobStatements(tables: Kysely<Tables>): Readonly<Record<JobChange["type"], CompiledQuery>> {
  const row = { session: "", id: "", tool: "", mode: "", notify: 0, state: "", started_at: 0, starts: 0 };
  const unended = tables.updateTable("haft_job").where("session", "=", "").where("id", "=", "").where("ended_at", "is", null);
  return {
    start: tables
      .insertInto("haft_job")
      .values(row)
      .onConflict((conflict) => conflict.columns(["session", "id"]).doNothing())
      .compile(),
    run: unended.set({ state: "", starts: 0 }).compile(),
    ask: unended.set({ state: "" }).compile(),
    answer: unended.where("state", "=", "").set({ state: "" }).compile(),
    end: unended.set({ state: "", ended_at: 0, error_code: "", cancel_reason: "" }).compile(),
  };
}

/** The parameters, in the order of the statement's text. */
function parametersOf(session: string, change: JobChange): readonly unknown[] {
  const key = [session, toStoredText(change.id)];
  switch (change.type) {
    case "start": {
      const { toolName, mode, notify, isQueued, at } = change;
      return [...key, toStoredText(toolName), mode, Number(notify), isQueued ? "queued" : "running", at, isQueued ? 0 : 1];
    }
    case "run":
      return [change.isQueued ? "queued" : "running", change.starts, ...key];
    case "ask":
      return ["waiting", ...key];
    case "answer":
      return ["running", ...key, "waiting"];
    case "end":
      return [change.state, change.at, change.errorCode, null, ...key];
  }
}
