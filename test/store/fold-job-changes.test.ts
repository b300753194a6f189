import { expect, test } from "vitest";
import { foldJobChanges } from "../../src/store/records/fold-job-changes.ts";
import type { JobChange } from "../../src/store/records/job-changes.ts";

const start = { type: "start", id: "a", toolName: "t", mode: "background", notify: true, at: 1, isQueued: true } as const;
const end = { type: "end", id: "a", toolName: "t", state: "done", at: 9, errorCode: null } as const;

const run = (starts: number, isQueued: boolean = false) => ({ type: "run", id: "a", starts, isQueued }) as const;

/** Of the one job that they are of. */
function folded(...changes: readonly JobChange[]) {
  const [job] = foldJobChanges('"s"', changes);
  return [job?.state, job?.starts, job?.start?.at, job?.end?.at];
}

test.each([
  ["begins", [start], ["queued", 0, 1, undefined]],
  ["begins and runs", [start, run(1)], ["running", 1, 1, undefined]],
  ["begins and has ended", [start, run(1), end], ["done", 1, 1, 9]],
  ["runs again", [run(2)], ["running", 2, undefined, undefined]],
  ["waits for its place again", [run(2, true)], ["queued", 2, undefined, undefined]],
  ["asks", [{ type: "ask", id: "a" }], ["waiting", undefined, undefined, undefined]],
  [
    "asks and is answered",
    [
      { type: "ask", id: "a" },
      { type: "answer", id: "a" },
    ],
    ["running", undefined, undefined, undefined],
  ],
  ["is answered, and runs where it was waiting", [{ type: "answer", id: "a" }], [undefined, undefined, undefined, undefined]],
  ["has ended, whatever comes then", [end, run(3)], ["done", undefined, undefined, 9]],
] as const)("issue 21 the changes of a job that %s are combined into one", (_, changes, expected) => {
  expect(folded(...changes)).toEqual(expected);
});

test("issue 21 changes of different jobs are not combined", () => {
  const jobs = foldJobChanges('"s"', [start, { ...start, id: "b" }, end]);
  expect(jobs.map(({ id, state }) => [id, state])).toEqual([
    ['"a"', "done"],
    ['"b"', "queued"],
  ]);
});
