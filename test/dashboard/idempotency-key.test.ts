/** Keys of requests, also where the page is no secure context. */
import { expect, test } from "vitest";
import { newIdempotencyKey } from "../../src/dashboard/server/idempotency-key.ts";
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
