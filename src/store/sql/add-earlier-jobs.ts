/** The jobs in logs that were written before the table of jobs existed. */
import type { Transaction } from "kysely";
import { parseJson } from "../../core/base/parse-json.ts";
import { EVENT_LIMITS, readEvent } from "../../core/recording/read-event.ts";
import type { SessionEvent } from "../../core/event.ts";
import { deriveJobChanges } from "../records/job-changes.ts";
import { JobStatements } from "./job-statements.ts";
import { parseStoredTextOrRaw } from "../records/stored-text.ts";
import type { Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

const PAGE = 1_000;

/** Adds a row for each job. Damaged events are skipped; they are reported when their session is read. */
export async function addEarlierJobs(tables: Transaction<Tables>): Promise<void> {
  const statements = new JobStatements(tables);
  const inOrder = tables
    .selectFrom("haft_event")
    .select(["session", "position", "body"])
    .where("type", "in", ["job-start", "job-end"])
    .orderBy("session")
    .orderBy("position")
    .limit(PAGE);
  for (let last: { readonly session: string; readonly position: number } | undefined; ;) {
    const after = last;
    const page = await (
      after === undefined
        ? inOrder
        : inOrder.where((build) => build(build.refTuple("session", "position"), ">", build.tuple(after.session, after.position)))
    ).execute();
    for (const { session, body } of page) {
      const event = readOrSkip(body);
      for (const change of event === undefined ? [] : deriveJobChanges(parseStoredTextOrRaw(session), [event])) {
        const { query, parameters } = statements.statementFor(session, change);
        await tables.executeQuery(withParameters(query, parameters));
      }
    }
    last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
  }
}

function readOrSkip(body: string): SessionEvent | undefined {
  try {
    return readEvent(parseJson(body, EVENT_LIMITS), "A stored event");
  } catch {
    return undefined;
  }
}
