/** Keys of requests, also where the page is no secure context. */
import { expect, test } from "vitest";
import { ApiError } from "../../src/client/client.ts";
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
