/** Programs that are approved as a whole: simulated first, one question with all calls, whose answer covers exactly those. */
import { describe, expect, test } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { ApprovalRecord, CoveredCall } from "../../../src/core/store/approval-store.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/core/approvals/ask.ts";
import type { Engine } from "../../../src/core/engine.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createChain } from "../../../src/compose/chain/chain.ts";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { gate, testRuntime, tool, type TestRuntime } from "../../runtime/bench-runtime.ts";
import { FailingStore } from "../../runtime/session/failing-store.ts";
import { testInCI } from "../../test-in-ci.ts";

interface Asked {
  readonly toolName: string;
  readonly reason: string;
  readonly covers: readonly Shown[] | undefined;
}

type Shown = Pick<CoveredCall, "toolName" | "input">;
/** What a person sees of the calls: the definitions of their tools aside. */
const shownOf = (covers: readonly CoveredCall[] | undefined): readonly Shown[] | undefined =>
  covers?.map(({ toolName, input }) => ({ toolName, input }));

interface Bench extends TestRuntime {
  readonly asked: Asked[];
  readonly booked: string[];
}

const BOOKING = { writes: ["bookings"], external: true, destructive: true } as const;
/** Answers in place of what is not to be done. */
const standIn: Engine = { kind: "stub", origin: "stub", call: async () => ({ number: "?" }) };

function bench(more: Partial<RuntimeOptions> = {}, answer: (request: ApprovalRequest) => ApprovalAnswer = () => "allow-once"): Bench {
  const asked: Asked[] = [];
  const booked: string[] = [];
  const tools = [
    tool("book", ({ item }) => (booked.push(String(item)), { number: `${String(item)}-1` }), { effects: BOOKING }),
    tool("offers", () => ["train", "hotel", "car"], { effects: { reads: ["offers"] } }),
  ];
  const approve = (request: ApprovalRequest): ApprovalAnswer => {
    const { toolName, reason, covers } = request;
    asked.push({ toolName, reason, covers: shownOf(covers) });
    return answer(request);
  };
  const toolsets = [{ name: "trip", tools }, programToolset({ approve: "whole" })];
  return { ...testRuntime({ toolsets, standIn, approval: { approve }, ...more }), asked, booked };
}

const program = (code: string): { name: string; input: JsonObject } => ({ name: "program::run_program", input: { code } });
const BOOK_ALL = "for (const item of await tools.trip.offers()) await tools.trip.book({ item }); return 'done';";
const books = (...items: readonly string[]): readonly Shown[] => items.map((item) => ({ toolName: "trip::book", input: { item } }));
const OFFERS = { toolName: "trip::offers", input: {} };

describe("issue 18 F4.40 a program that is approved as a whole", () => {
  test("is asked about once, with its code, every call of its simulation and the diff, and runs without another approval", async () => {
    const previews: unknown[] = [];
    const shown: unknown[] = [];
    const { runtime, asked, booked } = bench({}, (request) => {
      shown.push(request.input);
      void request.preview?.().then((preview) => previews.push(preview));
      return "allow-once";
    });
    const result = await runtime.session("s").execute(program(BOOK_ALL));

    expect(result).toMatchObject({ status: "ok", output: { returned: "done" } });
    expect(asked).toEqual([
      {
        toolName: "program::run_program",
        reason: "program::run_program would make 3 calls that need approval.",
        covers: [OFFERS, ...books("train", "hotel", "car")],
      },
    ]);
    expect(shown).toEqual([{ code: BOOK_ALL }]);
    expect(previews).toMatchObject([{ available: true, writes: ["bookings"], calls: [{ toolName: "trip::offers" }, {}, {}, {}] }]);
    expect(booked).toEqual(["train", "hotel", "car"]);
  });

  test("F0.8 is asked about if it calls an overload that needs approval, and not if it calls the one that needs none", async () => {
    const takes = (key: string): Tool["inputSchema"] => ({ type: "object", properties: { [key]: {} }, required: [key] });
    const tools = [
      tool("book", () => "seen", { inputSchema: takes("number"), effects: { reads: ["bookings"] } }),
      tool("book", () => "booked", { inputSchema: takes("item"), effects: BOOKING }),
    ];
    const toolsets = [{ name: "trip", overloads: true, tools }, programToolset({ approve: "whole" })];
    const { runtime, asked } = bench({ toolsets });
    await runtime.session("s").execute(program("return await tools.trip.book({ number: 'train-1' });"));
    expect(asked).toEqual([]);
    await runtime.session("t").execute(program("return await tools.trip.book({ item: 'train' });"));
    expect(asked.map(({ toolName, covers }) => [toolName, covers])).toEqual([["program::run_program", books("train")]]);
  });

  test("needs separate approval for a call that its simulation did not make: another input, or the same once more", async () => {
    const { runtime, asked, booked } = bench();
    const code = `const { number } = await tools.trip.book({ item: "train" });
      if (number !== "?") { await tools.trip.book({ item: "plane" }); await tools.trip.book({ item: "train" }); }`;
    await runtime.session("s").execute(program(code));

    expect(asked.map(({ toolName, covers }) => [toolName, covers])).toEqual([
      ["program::run_program", books("train")],
      ["trip::book", undefined],
      ["trip::book", undefined],
    ]);
    expect(booked).toEqual(["train", "plane", "train"]);
  });

  test("runs nothing if denied, and its approval does not cover the same call outside of the program", async () => {
    const { runtime, asked, booked } = bench({}, ({ toolName }) => (toolName === "trip::book" ? "deny" : "allow-once"));
    const session = runtime.session("s");
    await session.execute(program("return await tools.trip.book({ item: 'train' });"));
    expect((await session.execute({ name: "trip::book", input: { item: "train" } })).error?.code).toBe("approval_denied");
    expect(booked).toEqual(["train"]);

    const other = bench({}, () => "deny");
    expect((await other.runtime.session("s").execute(program(BOOK_ALL))).error?.code).toBe("approval_denied");
    expect([other.booked, other.asked.length, asked.length]).toEqual([[], 1, 2]);
  });

  testInCI(
    "is not asked about if no call needs approval; if programs are always allowed, each call is asked about on its own",
    async () => {
      const { runtime, asked } = bench({}, ({ toolName }) => (toolName === "trip::book" ? "allow-once" : "allow-always"));
      const session = runtime.session("s");
      expect((await session.execute(program("return await tools.trip.offers();"))).status).toBe("ok");
      expect(asked).toEqual([]);
      // A yes to all programs is no yes to calls that nobody was shown.
      await session.execute(program("return await tools.trip.book({ item: 'train' });"));
      await session.execute(program("return await tools.trip.book({ item: 'boat' });"));
      expect(asked.map(({ toolName }) => toolName)).toEqual(["program::run_program", "trip::book"]);
    },
  );

  test("needs separate approval for calls that cannot be simulated", async () => {
    const asked: unknown[] = [];
    const book = tool("book", () => "booked", { effects: BOOKING });
    const { runtime } = testRuntime({
      toolsets: [{ name: "trip", tools: [book] }, programToolset({ approve: "whole" })],
      approval: {
        approve: ({ toolName, covers }) => (asked.push([toolName, shownOf(covers)]), "allow-once"),
        always: ["program::run_program"],
      },
    });
    // The first is shown with the input that it would have; the second comes after what no simulation knows.
    const code = "const a = await tools.trip.book({ item: 'train' }); return [a, await tools.trip.book({ item: 'hotel' })];";
    expect((await runtime.session("s").execute(program(code))).output).toEqual({ returned: ["booked", "booked"] });
    expect(asked).toEqual([
      ["program::run_program", books("train")],
      ["trip::book", undefined],
    ]);
  });

  test("without an approver ends with approval_required, and none of its calls run", async () => {
    const { runtime, booked } = bench({ approval: {} });
    expect((await runtime.session("s").execute(program(BOOK_ALL))).error).toMatchObject({ code: "approval_required" });
    expect(booked).toEqual([]);
  });

  test("needs no approval in a simulation", async () => {
    const { runtime, asked, booked } = bench();
    const { results } = await runtime.session("s").simulate([program(BOOK_ALL)]);
    expect([results[0]?.status, asked, booked]).toEqual(["ok", [], []]);

    const outer: Tool = {
      name: "outer",
      description: "Runs a program.",
      inputSchema: { type: "object" },
      composite: true,
      execute: async (_input, { execute }) => [(await execute(program(BOOK_ALL))).status, (await execute({ name: "prices" })).status],
    };
    const prices = tool("prices", () => "cheap", { effects: { reads: ["prices"] } });
    const askedAround: string[] = [];
    const previews: unknown[] = [];
    const approve = async ({ toolName, preview }: ApprovalRequest): Promise<ApprovalAnswer> => {
      askedAround.push(toolName);
      previews.push(await preview?.());
      return "deny";
    };
    const around = bench({ tools: [outer, prices], approval: { always: ["outer", "prices"], approve } });
    await around.runtime.session("s").execute({ name: "outer" });
    expect([askedAround, around.booked]).toEqual([["default::outer"], []]);
    const needsYes = { toolName: "default::prices", outcome: "approval_required" }; // a simulation would make it
    const ran = [{ toolName: "program::run_program", outcome: "ok" }, OFFERS, ...books("train", "hotel", "car"), needsYes];
    expect(previews).toMatchObject([{ available: true, calls: ran }]);
  });

  test("can be approved through the inbox, where the pending approval shows its calls", async () => {
    const store = memoryStore();
    const { runtime, booked, ports } = bench({ store, approval: { approve: "inbox" } });
    const other = bench({ store, approval: { approve: "inbox" } });
    const running = runtime.session("s").execute(program(BOOK_ALL));
    let open = await other.runtime.approvals.pending();
    for (let tries = 0; open.length === 0 && tries < 500; tries++) {
      await new Promise((wake) => setTimeout(wake, 10));
      open = await other.runtime.approvals.pending();
    }
    expect(shownOf(open[0]?.covers)).toEqual([OFFERS, ...books("train", "hotel", "car")]);
    const { id = "", digest = "" } = open[0] ?? {};
    expect(await other.runtime.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
    await ports.clock.advance(1_000); // by then the process that asked has looked for answers
    expect((await running).status).toBe("ok");
    expect([booked, other.booked]).toEqual([["train", "hotel", "car"], []]);
  });
});

/** Processes with tools that book and look. The first stands still as it looks, in the real run alone: a simulation runs what only reads. */
function trips(more: RuntimeOptions = {}) {
  const reached = gate();
  const asked: string[] = [];
  const booked: string[] = [];
  const start = (store: FailingStore, process: number): TestRuntime => {
    let ids = 0;
    const book = tool("book", ({ item }) => (booked.push(String(item)), { number: 1 }), { effects: BOOKING });
    const look = tool(
      "look",
      (_input, { simulated }) => (simulated ? "enough" : process > 0 ? "more" : (reached.open(), new Promise(() => {}))),
      { effects: { reads: ["x"] } },
    );
    return testRuntime({
      toolsets: [{ name: "trip", tools: [book, look] }, programToolset({ approve: "whole" })],
      standIn,
      store,
      ports: { ids: { next: (prefix: string) => `${prefix}_${process}_${++ids}` } },
      approval: { approve: ({ toolName }) => (asked.push(toolName), "allow-once") },
      ...more,
    });
  };
  return { reached, asked, booked, start };
}

test("issue 18 an approved program that is killed half-way resumes without another approval and repeats no call", async () => {
  const { reached, asked, booked, start } = trips();
  const store = new FailingStore();
  const session = start(store, 0).runtime.session("s");
  const code =
    "await tools.trip.book({ item: 'train' }); await tools.trip.look(); await tools.trip.book({ item: 'hotel' }); await tools.trip.book({ item: 'car' }); return 3;";
  void session.execute(program(code)).catch(() => {});
  await reached.promise;
  await store.logs.get("s")?.whenDurable();
  expect(booked).toEqual(["train"]);

  const resumed = await start(store.crash(), 1).runtime.resume("s");
  expect(resumed.history.at(0)?.result).toMatchObject({ status: "ok", output: { returned: 3 } });
  expect([booked, asked]).toEqual([["train", "hotel", "car"], ["program::run_program"]]);
});

test("issue 21 a resumed program needs approval for a call made more often than shown, even if ended calls are not in memory", async () => {
  const { reached, asked, booked, start } = trips({ keepEvents: 1 });
  const store = new FailingStore();
  const code =
    "await tools.trip.book({ item: 'train' }); if (await tools.trip.look() === 'more') await tools.trip.book({ item: 'train' }); return 3;";
  void start(store, 0)
    .runtime.session("s")
    .execute(program(code))
    .catch(() => {});
  await reached.promise;
  await store.logs.get("s")?.whenDurable();
  await start(store.crash(), 1).runtime.resume("s");
  expect([booked, asked]).toEqual([
    ["train", "train"],
    ["program::run_program", "trip::book"],
  ]);
});

test("issue 18 any composite tool can be approved as a whole, also one that calls another composite tool", async () => {
  const asked: Asked[] = [];
  const booked: string[] = [];
  const book = tool("book", ({ item }) => (booked.push(String(item)), item), { effects: BOOKING });
  const chain = createChain([{ tool: "trip::book", inputMapping: { item: { value: "train" } }, outputKey: "train" }]).toTool({
    name: "ride",
    description: "Books a ride.",
  });
  const outer = {
    name: "outer",
    description: "Books it.",
    inputSchema: { type: "object" },
    composite: true,
    approveWhole: true,
    execute: async (_input: object, { execute }: ToolContext) => (await execute({ name: "trip::ride", input: {} })).status,
  } as const;
  const { runtime } = testRuntime({
    toolsets: [{ name: "trip", tools: [book, chain, outer] }],
    standIn,
    approval: { approve: ({ toolName, reason, covers }) => (asked.push({ toolName, reason, covers }), "allow-once") },
  });
  expect((await runtime.session("s").execute({ name: "trip::outer", input: {} })).output).toBe("ok");
  expect(asked).toMatchObject([{ toolName: "trip::outer", covers: [{ toolName: "trip::ride" }, { toolName: "trip::book" }] }]);
  expect(booked).toEqual(["train"]);
});

test("issue 18 an invalid approve option throws", () => {
  expect(() => programToolset({ approve: "all" as "whole" })).toThrow(
    'The option approve of programToolset() must be "calls" or "whole", not "all".',
  );
});

/** A composite call of one tool that books, where the price is by the time of the call, and the definition by the process. */
describe("an approval of the calls of a composite call covers only what was shown", () => {
  const trip = (offer: { readonly price: number }, description = "Books.") => {
    const booked: Readonly<Record<string, unknown>>[] = [];
    const book = tool("book", (input) => (booked.push(input), "booked"), { effects: BOOKING, description });
    const outer: Tool = {
      name: "outer",
      description: "Books it.",
      inputSchema: { type: "object" },
      composite: true,
      approveWhole: true,
      execute: async (_input, { execute }) => (await execute({ name: "trip::book", input: { price: offer.price } })).status,
    };
    return { booked, book, options: { toolsets: [{ name: "trip", tools: [book, outer] }], standIn } };
  };
  const OUTER = { name: "trip::outer", input: {} };
  const untilOpen = async ({ approvals }: Pick<TestRuntime["runtime"], "approvals">): Promise<ApprovalRecord> => {
    for (;;) {
      const [open] = await approvals.pending();
      if (open !== undefined) return open;
      await new Promise((wake) => setTimeout(wake, 10));
    }
  };

  test("a tool whose definition changes while the question is open needs approval again", async () => {
    const asked: string[] = [];
    const { booked, book, options } = trip({ price: 10 });
    const { runtime } = testRuntime({
      ...options,
      approval: {
        approve: ({ toolName }) => {
          asked.push(toolName);
          if (toolName !== "trip::outer") return "deny";
          runtime.registry.unregister("trip::book");
          runtime.registry.register({ ...book, description: "Books for good, at any price." }, "trip");
          return "allow-once";
        },
      },
    });
    await runtime.session("s").execute(OUTER);
    expect([asked, booked]).toEqual([["trip::outer", "trip::book"], []]);
  });

  test.each([
    ["with the same definition, what was shown is covered", { description: "Books." }, { asked: [], booked: [{ price: 10 }] }],
    ["with another definition, it is asked about", { description: "Books more." }, { asked: ["trip::book"], booked: [] }],
    ["with another input, it is asked about", { price: 1_000 }, { asked: ["trip::book"], booked: [] }],
  ])("a question that a later process asks again keeps the calls that it showed: %s", async (_what, changed, expected) => {
    const { price = 10, description } = changed as { price?: number; description?: string };
    const store = memoryStore();
    const first = trip({ price: 10 });
    const before = testRuntime({ ...first.options, store, approval: { approve: "inbox" } }).runtime;
    void before
      .session("s")
      .execute(OUTER)
      .catch(() => undefined);
    const seen = await untilOpen(before);
    await before.sessions.handOver("s");

    const second = trip({ price }, description);
    const after = testRuntime({ ...second.options, store, approval: { approve: "inbox" } }).runtime;
    const resumed = after.resume("s");
    const isAskedAgain = async (): Promise<boolean> => ((await after.approvals.get(seen.id))?.position ?? 0) > seen.position;
    while (!(await isAskedAgain())) await new Promise((wake) => setTimeout(wake, 10));
    expect(await after.approvals.answer({ id: seen.id, digest: seen.digest, answer: "allow-once" })).toBe(true);
    const asked: string[] = [];
    const denying = setInterval(() => {
      void after.approvals
        .answerMany({ answer: "deny", upTo: Number.MAX_SAFE_INTEGER })
        .then((records) => asked.push(...records.map(({ toolName }) => toolName)));
    }, 10);
    await resumed;
    clearInterval(denying);
    expect({ asked, booked: [...first.booked, ...second.booked] }).toEqual(expected);
  });
});
