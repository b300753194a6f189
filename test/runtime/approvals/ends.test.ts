/** The ends of a session, over SQLite, with each kind of question that a call of it may wait for: none stays open that nobody can answer. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { AskRequest } from "../../../src/core/approvals/ask.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { tool } from "../bench-runtime.ts";

useSqliteThreads();

/** Nothing here waits for a clock: after so long, it never comes. */
const PATIENT = { timeout: 30_000 };

interface World {
  readonly first: Runtime;
  readonly session: RuntimeSession;
  /** Another process of the store. */
  readonly second: Runtime;
  /** What was asked by `context.ask` in either process: so do MCP servers and logins. */
  readonly asked: AskRequest[];
}

function world(): World {
  const path = temporaryFile();
  const asked: AskRequest[] = [];
  const open = (): Runtime => {
    const runtime = createRuntime({
      store: sqliteStore({ path }),
      approval: { approve: "inbox" },
      ask: (request) => (asked.push(request), new Promise(() => {})),
      timeoutMs: 0,
      tools: [
        tool("erase", () => "erased", { effects: { writes: ["notes"], destructive: true } }),
        tool("approve", async (_input, context) => (await context.execute({ name: "erase" })).output, {
          composite: true,
          effects: undefined as never,
        }),
        tool(
          "within",
          async (_input, context) => (await (await sessionWithin(context)).execute({ name: "elicit" }, { signal: context.signal })).output,
          { composite: true, effects: undefined as never },
        ),
        tool("elicit", async (_input, context) => (await context.ask({ message: "Who?" })).action),
        tool(
          "log_in",
          async (_input, context) => (await context.ask({ message: "Log in.", url: "https://login.example/" }, "a login")).action,
        ),
      ],
    });
    onTestFinished(async () => void (await runtime.close()));
    return runtime;
  };
  const first = open();
  return { first, session: first.session("s"), second: open(), asked };
}

const KINDS = ["approve", "elicit", "log_in", "within"] as const;
const MODES = ["in a turn", "in a job"] as const;

/** Each end, and whether the question can still be answered afterwards, by the process that has the session then. */
const ENDS: readonly (readonly [string, "open" | "over", (world: World) => Promise<unknown>])[] = [
  ["removed", "over", ({ first }) => first.sessions.forget("s")],
  ["closed with its runtime", "over", ({ first }) => first.close()],
  ["handed over", "open", ({ first, second }) => first.sessions.handOver("s").then(() => second.resume("s"))],
];

/** Those that the process is not told of. */
const TAKEN: typeof ENDS = [
  ["settled by another process", "over", ({ second }) => second.resume("s", { interrupted: "settle", takeOver: true })],
  ["taken over", "open", ({ second }) => second.resume("s", { takeOver: true })],
];

// A session in whose turn a call runs is not left to others, and a resume waits for the calls of turns.
const cases = [...ENDS, ...TAKEN].flatMap(([what, after, end]) =>
  KINDS.flatMap((kind) =>
    MODES.filter((mode) => mode === "in a job" || after === "over").map((mode) => ({ what, after, end, kind, mode })),
  ),
);

test.each(cases)("a question of $kind $mode, once its session is $what, is $after", async ({ after, end, kind, mode }) => {
  const made = world();
  const { session, second, asked } = made;
  const work = mode === "in a job" ? session.submit({ name: kind }) : session.execute({ name: kind });
  work.catch(() => {}); // its session may be another's
  const pending = async (): Promise<number> => (await second.approvals.pending()).length;
  const isApproval = kind === "approve";
  await vi.waitFor(async () => expect(isApproval ? await pending() : asked.length).toBe(1), PATIENT);
  await end(made);
  const open = async (): Promise<unknown> => ({ inbox: await pending(), asked: asked.filter(({ signal }) => !signal.aborted).length });
  const waits = after === "open" ? 1 : 0;
  await vi.waitFor(async () => expect(await open()).toEqual(isApproval ? { inbox: waits, asked: 0 } : { inbox: 0, asked: waits }), PATIENT);
  if (isApproval && after === "open") {
    const [question] = await second.approvals.pending();
    const { id = "", digest = "" } = question ?? {};
    expect(await second.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
    await vi.waitFor(
      () => expect(second.sessions.get("s")?.history.map(({ result }) => result?.output)).toEqual(["erased", "erased"]),
      PATIENT,
    );
  }
});
