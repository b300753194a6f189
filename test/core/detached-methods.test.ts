/** Every method that programs are shown says it when it is called without its object: `const { resume } = runtime`. */
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { guardMethods } from "../../src/core/detached-methods.ts";
import { createAgent, createLoop, createRuntime } from "../../src/index.ts";
import { createServer, staticToken } from "../../src/server.ts";
import { scriptedModel } from "../../src/testing/index.ts";

const runtime = createRuntime();
const session = runtime.session();
const model = scriptedModel([{ text: "hi" }]);
const auth = staticToken({ token: "0123456789abcdef" });
/** Each object by the name that messages have for it, and what its type shows of methods; `fetch` of a server is a field, and works. */
const OBJECTS: Readonly<Record<string, readonly [object: object, methods: string]>> = {
  runtime: [
    runtime,
    "loop open openToolset closeToolset refresh watch subscribe trace events execute simulate session resume cancel close",
  ],
  session: [
    session,
    "execute submit turn simulate fork forkAt diff commit discard snapshot events onJob messages close wholeResult " +
      "addMessage receive trigger addTrigger replaceTrigger setTriggerPaused removeTrigger",
  ],
  jobs: [runtime.jobs, "list get wait read send cancel listStored cancelStored promote"],
  loop: [createLoop({ model, session }), "run stream resume steer pending"],
  agent: [createAgent({ model, session }), "send wake cancel start stop whenIdle pending decide"],
  server: [createServer(runtime, { auth }), "listen work close"],
  client: [createClient({ url: "http://localhost:1", token: "t" }), "call follow"],
};
const rows = Object.entries(OBJECTS).flatMap(([owner, [object, methods]]) =>
  methods.split(" ").map((method) => ({ owner, method, object })),
);

async function errorOf(method: unknown, of: unknown): Promise<unknown> {
  try {
    return await Reflect.apply(method as () => unknown, of, []);
  } catch (thrown: unknown) {
    return thrown;
  }
}

describe("a method without its object", () => {
  test.each(rows)("$owner.$method", async ({ owner, method, object }) => {
    const value: unknown = Reflect.get(object, method);
    for (const of of [undefined, {}, setTimeout(() => {}, 0)])
      expect(await errorOf(value, of)).toMatchObject({
        message: expect.stringContaining(`${method}() was called without its ${owner}: it was taken off the object.`),
      });
    expect(value).toHaveProperty("name", method);
  });
});

test("an instance of a derived class has the methods of its base, and results and errors pass", () => {
  class Base {
    readonly #value = 1;
    static {
      guardMethods(this, { owner: "base" });
    }
    add(by: number): number {
      if (by < 0) throw new RangeError("negative");
      return this.#value + by;
    }
  }
  class Derived extends Base {
    override add(by: number): number {
      return super.add(by) + 10;
    }
  }
  expect([new Base().add(2), new Derived().add(2)]).toEqual([3, 13]);
  expect(() => new Base().add(-1)).toThrow(RangeError);
});
