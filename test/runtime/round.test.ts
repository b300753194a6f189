import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { ModelCall } from "../../src/core/model.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import type { RoundReply } from "../../src/runtime/round.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { memoryStore } from "../../src/store/memory-store.ts";

const USAGE = { inputTokens: 1, outputTokens: 2 } as const;
const WELL: RoundReply = { content: "I look.", finish: "calls", usage: USAGE };

/** Tools that note when they start, and end when they are told to. */
class World {
  readonly started: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<string>>();

  tool(name: string, extra: Partial<Tool> = {}): Tool {
    return {
      name,
      description: name,
      inputSchema: { type: "object", properties: { key: { type: "string" } } },
      execute: ({ key = "" }: { readonly key?: string }) => {
        this.started.push(`${name}(${key})`);
        return this.#end(`${name}(${key})`).promise;
      },
      ...extra,
    };
  }

  end(call: string): void {
    this.#end(call).resolve(`${call} is done`);
  }

  #end(call: string): PromiseWithResolvers<string> {
    let end = this.#ends.get(call);
    if (end === undefined) this.#ends.set(call, (end = Promise.withResolvers<string>()));
    return end;
  }
}

const read = { effects: { reads: ({ key }: { readonly key?: string }) => [`thing:${key ?? ""}`], writes: [] } } as Partial<Tool>;
const write = { effects: { writes: ({ key }: { readonly key?: string }) => [`thing:${key ?? ""}`] } } as Partial<Tool>;

function setUp(options: RuntimeOptions = {}) {
  const world = new World();
  const runtime = createRuntime({
    ports: fakePorts(),
    tools: [
      world.tool("read", read),
      world.tool("write", write),
      world.tool("undeclared"),
      world.tool("mail", { effects: { writes: ["mail"], external: true } }),
      world.tool("wipe", { effects: { writes: ["disk"], destructive: true } }),
      world.tool("once", { effects: { writes: ["once"] }, oncePerTurn: true }),
      world.tool("say", { effects: { writes: ["talk"] }, category: "TERMINAL" }),
    ],
    approval: { approve: () => "allow-once" },
    ...options,
  });
  return { world, runtime, session: runtime.session(`session ${++sessions}`) };
}

let sessions = 0;

function call(name: string, key?: string, id?: string): ModelCall {
  return { name, input: key === undefined ? {} : { key }, ...(id === undefined ? {} : { id }) };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("F1.15 a round takes calls while the model still writes its message", () => {
  test("reads start as they are added, other calls when the message has ended well, and results are in call order", async () => {
    const { world, session } = setUp();
    const results = await session.turn(async (turn) => {
      const round = turn.round();
      for (const one of [call("write", "a"), call("read", "b"), call("undeclared"), call("mail"), call("wipe"), call("read", "c")])
        round.add(one);
      expect(world.started).toEqual(["read(b)"]);
      const answers = round.end(WELL);
      await tick();
      for (const name of ["read(b)", "read(c)", "write(a)", "undeclared()", "mail()", "wipe()"]) {
        await tick();
        world.end(name);
      }
      return answers;
    });
    expect(results.map(({ output }) => output)).toEqual([
      "write(a) is done",
      "read(b) is done",
      "undeclared() is done",
      "mail() is done",
      "wipe() is done",
      "read(c) is done",
    ]);
  });

  test("a read waits for an earlier write of the same resource that has not started", async () => {
    const { world, session } = setUp();
    await session.turn(async (turn) => {
      const round = turn.round();
      for (const one of [call("write", "a"), call("read", "a"), call("read", "a/b"), call("read", "b")]) round.add(one);
      expect(world.started).toEqual(["read(b)"]);
      const answers = round.end(WELL);
      await tick();
      expect(world.started).toEqual(["read(b)", "write(a)"]);
      for (const name of ["write(a)", "read(a)", "read(a/b)", "read(b)"]) world.end(name);
      await answers;
    });
    expect(world.started).toEqual(["read(b)", "write(a)", "read(a)", "read(a/b)"]);
  });

  test("a call with incomplete JSON, or one that needs approval, waits for the end even if it only reads", async () => {
    const { world, session } = setUp({ approval: { always: ["default::read"], approve: () => "allow-once" } });
    const other = setUp();
    await session.turn(async (turn) => {
      const round = turn.round();
      round.add(call("read", "a"));
      expect(world.started).toEqual([]);
      world.end("read(a)");
      await round.end(WELL);
    });
    await other.session.turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "read", input: '{"key": "a"' });
      expect(other.world.started).toEqual([]);
      other.world.end("read(a)");
      await round.end(WELL);
    });
    expect(world.started).toEqual(["read(a)"]);
  });

  test("a refused call has the refusal as its result, and its tool does not run", async () => {
    const { world, session } = setUp();
    const [refused, ran] = await session.turn(async (turn) => {
      const round = turn.round();
      round.add(call("read", "a"), { refusal: new ToolError("limit_exceeded", "No more calls.") });
      round.add(call("read", "b"));
      world.end("read(b)");
      return round.end(WELL);
    });
    expect({ started: world.started, code: refused?.error?.code, attempts: refused?.attempts, status: ran?.status }).toEqual({
      started: ["read(b)"],
      code: "limit_exceeded",
      attempts: 0,
      status: "ok",
    });
  });
});

describe("an incomplete message", () => {
  test.each(["length", "content-filter", "error", "truncated", "other"] as const)(
    "starts no waiting call when it ends with %s",
    async (finish) => {
      const { world, session } = setUp();
      const results = await session.turn(async (turn) => {
        const round = turn.round();
        round.add(call("read", "a"));
        round.add(call("write", "a"));
        world.end("read(a)");
        await tick();
        return round.end({ ...WELL, finish });
      });
      expect(results.map(({ status, attempts }) => ({ status, attempts }))).toEqual([
        { status: "ok", attempts: 1 },
        { status: "cancelled", attempts: 0 },
      ]);
      expect({ started: world.started, shown: session.messages() }).toEqual({ started: ["read(a)"], shown: [] });
      expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "cancelled"]);
    },
  );

  test("a voided round cancels running calls, frees once-per-turn tools, and the turn continues", async () => {
    const { world, session } = setUp();
    await session.turn(async (turn) => {
      const first = turn.round();
      for (const one of [call("read", "a"), call("once"), call("say")]) first.add(one);
      const voided = await first.void("the gateway sent another message");
      expect(voided.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
      expect(turn.endedBy).toBeUndefined();
      const second = turn.round();
      second.add(call("once"));
      world.end("once()");
      expect((await second.end(WELL)).map(({ status }) => status)).toEqual(["ok"]);
    });
    expect(session.messages().map(({ role }) => role)).toEqual(["assistant", "call", "result"]);
  });

  test("text without calls is kept when the message was cut off at its length limit", async () => {
    const { session } = setUp();
    await session.turn((turn) => turn.round().end({ content: "Once upon", finish: "length", usage: USAGE }));
    expect(session.messages()).toMatchObject([{ role: "assistant", content: "Once upon" }]);
  });

  test("F1.44 a turn that ends with a round open has a result for each of its calls", async () => {
    const { session } = setUp();
    await expect(
      session.turn((turn) => {
        turn.round().add(call("write", "a"));
        return Promise.reject(new Error("the program failed"));
      }),
    ).rejects.toThrow("the program failed");
    expect(session.history.map(({ result }) => result?.status)).toEqual(["cancelled"]);
  });

  test("an abort ends every call of the round, and the round can still be ended", async () => {
    const { world, session } = setUp();
    const controller = new AbortController();
    const results = await session.turn(async (turn) => {
      const round = turn.round({ signal: controller.signal });
      round.add(call("read", "a"));
      round.add(call("write", "b"));
      controller.abort();
      round.add(call("read", "c"));
      return round.end(WELL);
    });
    expect({ started: world.started, statuses: results.map(({ status }) => status) }).toEqual({
      started: ["read(a)"],
      statuses: ["cancelled", "cancelled", "cancelled"],
    });
  });
});

describe("the conversation of a turn with rounds", () => {
  test("the model's text comes before its calls, although they started while it wrote, and native blocks are kept", async () => {
    const { world, session } = setUp();
    const native = { format: "anthropic-messages", blocks: [{ type: "thinking", thinking: "…", signature: "s" }] };
    await session.turn(async (turn) => {
      turn.addMessage({ role: "user", content: "Look." });
      const round = turn.round();
      round.add(call("read", "a", "one"));
      world.end("read(a)");
      await tick();
      round.add(call("read", "b", "two"));
      world.end("read(b)");
      await round.end({ ...WELL, native });
      await turn.round().end({ content: "There it is.", finish: "stop", usage: USAGE });
    });
    const shown = session
      .messages()
      .map((message) => (message.role === "call" ? message.call.id : message.role === "result" ? message.result.id : message));
    expect(shown).toMatchObject([
      { role: "user", content: "Look." },
      { role: "assistant", content: "I look.", native },
      "one",
      "two",
      "one",
      "two",
      { role: "assistant", content: "There it is." },
    ]);
  });

  test("calls of a later round see the results of earlier ones, and per-turn rules apply across rounds", async () => {
    const { world, session } = setUp();
    const statuses = await session.turn(async (turn) => {
      world.end("once()");
      const first = turn.round();
      first.add(call("once"));
      await first.end(WELL);
      const second = turn.round();
      second.add(call("once"));
      const [again] = await second.end(WELL);
      return [again?.error?.code, session.history.length, new Set(session.history.map(({ turnId }) => turnId)).size];
    });
    expect(statuses).toEqual(["limit_exceeded", 2, 1]);
  });

  test("F3.24 calls after a tool that ends the turn are skipped", async () => {
    const { world, session } = setUp();
    world.end("say()");
    const results = await session.turn(async (turn) => {
      const round = turn.round();
      for (const one of [call("say"), call("read", "a")]) round.add(one);
      const first = await round.end(WELL);
      expect(turn.endedBy).toBe("default::say");
      return first;
    });
    expect(results.map(({ status }) => status)).toEqual(["ok", "skipped"]);
  });

  test("a resumed session shows the same conversation", async () => {
    const store = memoryStore();
    const { world, runtime, session } = setUp({ store });
    world.end("read(a)");
    await session.turn(async (turn) => {
      const voided = turn.round();
      voided.add(call("write", "x"));
      await voided.void("cut");
      const round = turn.round();
      round.add(call("read", "a"));
      await round.end(WELL);
    });
    const before = session.messages();
    await session.close();
    const again = await runtime.resume(session.id);
    expect(again.messages()).toEqual(before);
    expect(before).toHaveLength(3);
  });

  test("metadata of a round is stored with each result", async () => {
    const { world, session } = setUp();
    world.end("read(a)");
    const [result] = await session.turn(async (turn) => {
      const round = turn.round({ metadata: () => ({ advisory: "warning" }) });
      round.add(call("read", "a"));
      return round.end(WELL);
    });
    expect(result?.metadata).toEqual({ advisory: "warning" });
  });

  test("metadata of a round whose promise rejects does not end the process, and nothing is added", async () => {
    const { world, session } = setUp();
    world.end("read(a)");
    const metadata = (async () => {
      throw new Error("It broke.");
    }) as unknown as () => undefined; // as a program without types may pass
    const [result] = await session.turn(async (turn) => {
      const round = turn.round({ metadata });
      round.add(call("read", "a"));
      return round.end(WELL);
    });
    await tick();
    expect([result?.status, Object.keys(result?.metadata ?? {})]).toEqual(["ok", []]);
  });
});

describe("a crash in the middle of a message", () => {
  test("calls that waited for its end do not run when the session is resumed, and the model does not see them", async () => {
    const store = memoryStore();
    const { world, session } = setUp({ store });
    world.end("read(a)");
    const crashed = session.turn(async (turn) => {
      const round = turn.round();
      round.add(call("read", "a"));
      round.add(call("write", "b"));
      await session.eventLog?.whenDurable();
      await new Promise(() => {}); // the process ends here
    });
    crashed.catch(() => {});
    await tick();
    const other = setUp({ store });
    const resumed = await other.runtime.resume(session.id, { takeOver: true });
    expect(other.world.started).toEqual([]);
    expect(resumed.history.map(({ result }) => [result?.status, result?.error?.message])).toEqual([
      ["ok", undefined],
      ["cancelled", "write was not run: the process ended before the model's message was complete."],
    ]);
    expect(resumed.messages()).toEqual([]);
    const again = await setUp({ store }).runtime.resume(session.id, { takeOver: true });
    expect(again.log.filter(({ type }) => type === "round-end")).toHaveLength(1);
  });

  test("a call that was running when the round ended continues like any other call", async () => {
    const store = memoryStore();
    const { session } = setUp({ store });
    session
      .turn(async (turn) => {
        const round = turn.round();
        round.add(call("read", "a"));
        await round.end(WELL);
      })
      .catch(() => {});
    await tick();
    const other = setUp({ store });
    other.world.end("read(a)");
    const resumed = await other.runtime.resume(session.id, { takeOver: true });
    expect(other.world.started).toEqual(["read(a)"]);
    expect(resumed.messages().map(({ role }) => role)).toEqual(["assistant", "call", "result"]);
  });
});

describe("misuse", () => {
  test("a round ends once, only one is open at a time, and none opens after the turn", async () => {
    const { session } = setUp();
    const left = await session.turn(async (turn) => {
      const round = turn.round();
      expect(() => turn.round()).toThrow("A round begins when the one before it is over.");
      await round.end(WELL);
      await expect(round.end(WELL)).rejects.toThrow("The round is over.");
      expect(() => round.add(call("read"))).toThrow("The round is over.");
      return turn;
    });
    expect(() => left.round()).toThrow("The turn is over.");
    expect(() => left.addMessage({ role: "user", content: "late" })).toThrow("The turn is over.");
  });

  test("a turn of a closed session is rejected, and a turn that is cancelled while it waits does not start", async () => {
    const { session } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = new AbortController();
    let begun = false;
    const holding = session.turn(() => promise);
    const second = session.turn(async () => void (begun = true), { signal: waiting.signal });
    waiting.abort();
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
    resolve();
    await holding;
    await session.close();
    await expect(session.turn(() => Promise.resolve(true))).rejects.toThrow("is closed");
    expect(begun).toBe(false);
  });
});

test("a once-per-turn tool stays used when calls of another overload of its name are cancelled", async () => {
  const ran: string[] = [];
  const runtime = createRuntime();
  const overload = (key: string, oncePerTurn: boolean): Tool => ({
    name: "t",
    description: key,
    oncePerTurn,
    effects: { writes: key },
    inputSchema: { type: "object", properties: { [key]: { type: "integer" } }, required: [key], additionalProperties: false },
    execute: () => ran.push(key),
  });
  runtime.registry.register(overload("a", true), "x", { overload: true });
  runtime.registry.register(overload("b", false), "x", { overload: true });
  await runtime.session().turn(async (turn) => {
    const first = turn.round();
    first.add({ id: "1", name: "x::t", input: { a: 1 } });
    await first.end(WELL);
    const second = turn.round();
    second.add({ id: "2", name: "x::t", input: { b: 1 } });
    await second.void("cut off");
    const third = turn.round();
    third.add({ id: "3", name: "x::t", input: { a: 1 } });
    expect((await third.end(WELL)).map(({ error }) => error?.code)).toEqual(["limit_exceeded"]);
  });
  expect(ran).toEqual(["a"]);
  await runtime.close();
});
