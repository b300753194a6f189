import { expect, test } from "vitest";
import type { TokenUsage } from "../../../src/core/model.ts";
import { readUsage } from "../../../src/core/formats/token-usage.ts";

test.each([
  [undefined, { inputTokens: 0, outputTokens: 0 }],
  [
    { inputTokens: 3, outputTokens: 1, cachedInputTokens: 2 },
    { inputTokens: 3, outputTokens: 1, cachedInputTokens: 2 },
  ],
  [
    { inputTokens: -3, outputTokens: Number.NaN, reasoningTokens: Infinity },
    { inputTokens: 0, outputTokens: 0 },
  ],
  [
    { inputTokens: 2.5, outputTokens: "7", cacheWriteTokens: 1e300 },
    { inputTokens: 3, outputTokens: 0 },
  ],
])("F1.51 only valid counts are read from %o", (told, read) => {
  expect(readUsage(told as Partial<TokenUsage> | undefined)).toEqual(read);
});
