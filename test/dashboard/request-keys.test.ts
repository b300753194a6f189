/** Keys of requests, also where the page is no secure context. */
import { expect, test } from "vitest";
import { ApiError, type HaftClient } from "../../src/client/client.ts";
import { planKeyOf, runReplay, type ReplayPlan } from "../../src/dashboard/replay/run-replay.ts";
import { RequestKeys, newIdempotencyKey } from "../../src/dashboard/server/request-keys.ts";
import { readTree } from "../house/source-tree.ts";

test("a key has 128 random bits as text", () => {
  const keys = Array.from({ length: 100 }, newIdempotencyKey);
  expect(keys.filter((key) => !/^[0-9a-f]{32}$/u.test(key))).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
});

test("the page uses no browser API limited to secure contexts, except for copying", () => {
  const insecure = /crypto\.(?:randomUUID|subtle)\b|navigator\.(?:serviceWorker|locks|storage|credentials)\b|\bcaches\./u;
  const code = [...readTree("src/{dashboard,client}/**/*.{ts,tsx}")].map(
    ([path, text]) => [path, text.replaceAll(/\/\*\*?.*?\*\//gsu, "")] as const,
  );
  expect(code.length).toBeGreaterThan(100);
  expect(code.filter(([, text]) => insecure.test(text)).map(([path]) => path)).toEqual([]);
});

test("a request has the same key until it is answered, and other requests have others", async () => {
  const keys = new RequestKeys();
  const sent: string[] = [];
  const send = (content: unknown, failure?: Error): Promise<unknown> =>
    keys
      .send(content, (key) => {
        sent.push(key);
        return failure === undefined ? Promise.resolve() : Promise.reject(failure);
      })
      .catch((thrown: unknown) => thrown);
  const unanswered = [
    new ApiError("There was no answer", { status: 0 }),
    new ApiError("The answer was cut off.", { status: 200 }),
    new ApiError("The server stops.", { status: 503 }),
    new TypeError("Failed to fetch"),
  ];
  for (const failure of unanswered) {
    const thrown = await send(["pay", 1], failure);
    expect(String(thrown)).toMatch(/[.] It may have taken effect[.] Press again/u);
  }
  await send(["pay", 2]);
  await send(["pay", 1]);
  const [first, other] = [sent[0], sent[4]];
  expect(sent).toEqual([first, first, first, first, other, first]);
  expect(other).not.toBe(first);

  const refusal = new ApiError("No.", { status: 403 });
  expect(await send(["pay", 1], refusal)).toBe(refusal);
  await send(["pay", 1], unanswered[0]);
  keys.clear();
  await send(["pay", 1]);
  expect(new Set(sent.slice(5)).size).toBe(4);
});

test("a refusal does not end a request that may have taken effect before, unless its session is gone", async () => {
  const keys = new RequestKeys();
  const sent: string[] = [];
  const send = (status?: number): Promise<unknown> =>
    keys
      .send("pay", (key) => {
        sent.push(key);
        return status === undefined ? Promise.resolve() : Promise.reject(new ApiError("No.", { status }));
      })
      .catch(() => {});
  for (const status of [0, 429, 401, 409, undefined]) await send(status);
  expect(new Set(sent).size).toBe(1);
  for (const status of [503, 404, undefined]) await send(status);
  expect(sent[6]).toBe(sent[5]);
  expect(new Set(sent).size).toBe(3);
});

test("a live replay that is refused after some of its calls goes on with the next one", async () => {
  const requests: (readonly [operation: string, key: string | undefined])[] = [];
  let refusals = 1;
  const call = async (operation: string, { idempotencyKey }: { readonly idempotencyKey?: string }): Promise<unknown> => {
    await Promise.resolve();
    requests.push([operation, idempotencyKey]);
    if (requests.length > 2 && refusals-- > 0) throw new ApiError("Too many requests.", { status: 429 });
    if (operation === "forkSession") return { id: "branch" };
    return operation === "getDiff" ? { state: [], pretended: [] } : { results: [{ callId: "c", name: "t::pay" }] };
  };
  const step = (group: string) => ({ step: { callId: group, name: "t::pay", input: {}, group }, input: {} });
  const plan = { sessionId: "s", at: undefined, calls: [step("1"), step("2")], answerer: "live" } as unknown as ReplayPlan;
  const client = { call } as unknown as HaftClient;
  const keys = new RequestKeys();
  const run = () => keys.send(planKeyOf(plan), (key) => runReplay(plan, { client, key, onProgress: () => {} }));
  await expect(run()).rejects.toThrow(/^1 call had been made[.] Too many requests[.] It may have taken effect[.]/u);
  await expect(run()).resolves.toMatchObject({ branchId: "branch" });
  const [key] = requests.map(([, sent]) => sent);
  expect(requests.map(([, sent]) => sent)).toEqual([key, `${key}-0`, `${key}-1`, key, `${key}-0`, `${key}-1`, undefined]);
});
