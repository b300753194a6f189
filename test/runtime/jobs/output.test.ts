/** What jobs write: kept by position within limits, recorded as far as the log has room, and never more of it in memory than is kept. */
import { describe, expect, test } from "vitest";
import { heapBytes } from "../../../scripts/exact-accounting.ts";
import type { RuntimeEvent, SessionEvent } from "../../../src/core/event.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { fakePorts, settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { IN_CI, inCI } from "../../ci.ts";

const RECORDED = 65_536;

type Output = RuntimeEvent & { readonly type: "job-output" };

function outputs(events: readonly (RuntimeEvent | SessionEvent)[]): readonly Output[] {
  return events.filter((event): event is Output => event.type === "job-output");
}

const text = (events: readonly Output[]): string => events.map((event) => event.text).join("");

describe("F1.23 the output of a job", () => {
  test.each([
    ["of one piece that is longer", ["x".repeat(RECORDED + 1_000)]],
    ["of pieces, one of which goes past the end", ["a".repeat(RECORDED - 10), "b".repeat(100), "c"]],
    ["whose last character would be cut in two", ["x".repeat(RECORDED - 1), "😀 and more"]],
    ["that fits exactly", ["x".repeat(RECORDED), ""]],
  ])("%s is recorded up to 65,536 characters, and emitted to listeners whole", async (_, pieces) => {
    const { runtime, events } = testRuntime({ tools: [tool("log", (_input, { output }) => pieces.forEach((piece) => output(piece)))] });
    const session = runtime.session("s");
    const { id } = await session.submit({ name: "log" });
    await runtime.jobs.wait(id);
    const all = pieces.join("");
    const recorded = text(outputs(session.log));
    expect([RECORDED, RECORDED - 1]).toContain(Math.min(recorded.length, RECORDED));
    expect(all.startsWith(recorded)).toBe(true);
    expect(recorded.isWellFormed()).toBe(true);
    expect(text(outputs(events))).toBe(all);
    for (const event of outputs(events)) expect(all.slice(event.position, event.position + event.text.length)).toBe(event.text);
    expect(runtime.jobs.get(id)?.output.chars).toBe(all.length);
  });

  test("F1.14 from before the promotion is in the log, and emitted once", async () => {
    const done = gate();
    const slow = tool("slow", async (_input, { output }) => {
      output("early\n");
      output("still early\n");
      await done.promise;
      output("late\n");
    });
    const { runtime, events } = testRuntime({ tools: [slow] });
    const session = runtime.session("s");
    const answer = session.execute({ name: "slow" });
    await settle();
    runtime.jobs.promote(runtime.running[0]?.callId ?? "");
    await answer;
    done.open();
    await settle();
    expect(text(outputs(session.log))).toBe("early\nstill early\nlate\n");
    expect(text(outputs(events))).toBe("early\nstill early\nlate\n");
    expect(session.log.map(({ type }) => type)).toEqual(["call-start", "job-start", "job-output", "job-output", "call-end", "job-end"]);
  });

  test("that is dropped does not shift positions, whatever the sizes of its pieces", async () => {
    const sizes = [1, 9_000, 30_000, 3, 100_000, 8_192, 8_193, 12, 50];
    const pieces = sizes.map((size, at) => String.fromCharCode(97 + at).repeat(size));
    const { runtime } = testRuntime({
      tools: [tool("log", (_input, { output }) => pieces.forEach((piece) => output(piece)))],
      jobs: { maxOutputChars: 20_000 },
    });
    const { id } = await runtime.session("s").submit({ name: "log" });
    await runtime.jobs.wait(id);
    const all = pieces.join("");
    const { text: kept, from, total } = runtime.jobs.read(id, { maxChars: 1_000_000 });
    expect([kept, total]).toEqual([all.slice(from), all.length]);
    expect(kept.length).toBeGreaterThanOrEqual(20_000);
    expect(kept.length).toBeLessThan(20_000 + 2 * 8_192);
  });

  test.skipIf(!inCI).each([
    ["in one piece", (say: (text: string) => void) => say(fresh(5_000_000))],
    [
      "line by line of a whole that was split",
      (say: (text: string) => void) =>
        fresh(5_000_000, "\n")
          .split("\n")
          .slice(0, 200)
          .forEach((line) => say(line)),
    ],
  ])(`G08 of 5 MB %s uses memory only for the retained part, for each of 8 jobs ${IN_CI}`, async (_, write) => {
    const runtime = createRuntime({ ports: fakePorts(), tools: [tool("flood", (_input, { output }) => write(output))] });
    const session = runtime.session("s");
    const before = heapBytes();
    for (let job = 0; job < 8; job++) await session.submit({ name: "flood" });
    await settle();
    expect(runtime.jobs.list({ states: ["done"] })).toHaveLength(8);
    expect(heapBytes() - before).toBeLessThan(18_000_000);
    await runtime.close();
  });
});

let made = 0;

/** A text that no other shares, with a mark at every 1,000 characters. */
function fresh(chars: number, mark = "."): string {
  return `${++made}`
    .padEnd(999, "x")
    .concat(mark)
    .repeat(Math.ceil(chars / 1_000));
}
