import { expect, test } from "vitest";
import { KEYED_REQUEST_RETENTION_MS } from "../../src/core/store/access-store.ts";
import { MemoryAccess } from "../../src/store/memory/memory-access.ts";

test("issue 19.6 a full memory store refuses new keyed requests, retains stored ones, and accepts new ones a day later", async () => {
  const access = new MemoryAccess({ maxRequestBytes: 1_000 });
  const begin = (key: string, at: number): Promise<unknown> => access.beginRequest({ key, fingerprint: "f", at, holder: "h" });
  await begin("a", 0);
  await access.answerRequest({ key: "a", answer: "x".repeat(600) });
  await expect(begin("b", 10)).rejects.toMatchObject({
    code: "unavailable",
    retryable: true,
    outcome: "not_started",
    retryAfterMs: KEYED_REQUEST_RETENTION_MS - 10,
  });
  expect(await begin("a", 20)).toMatchObject({ key: "a", answer: "x".repeat(600) });
  expect(await begin("b", KEYED_REQUEST_RETENTION_MS + 1)).toBeUndefined();
});
