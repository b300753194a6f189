import { expect, test } from "vitest";
import { isTokenCount } from "../../../src/core/formats/token-counts.ts";

test.each([
  "MAX_TOKENS",
  "max_tokens",
  "maxTokens",
  "max-tokens",
  "MAX_TOKEN",
  "MAX_OUTPUT_TOKENS",
  "tokens_used",
  "TOKENS_PER_MINUTE",
  "TOTAL_TOKENS",
  "TOKEN_LIMIT",
  "tokenCount",
  "X-Token-Budget",
  "NUMBER_OF_TOKENS",
])("%s with a number is a count", (name) => {
  for (const value of ["16000000", "16_000_000", "1,048,576", "16000000.5"]) expect(isTokenCount(name, value)).toBe(true);
  for (const value of ["", "canary-1", "16000000x", "0x16000000", "1234:5678", "-"]) expect(isTokenCount(name, value)).toBe(false);
});

test.each([
  "TOKEN",
  "API_TOKEN",
  "ACCESS_TOKENS",
  "MAX_BOT_TOKEN",
  "MAXTOKENS_KEY",
  "PASSWORD_LENGTH",
  "LIMITED_TOKEN",
  "PIN",
  "MAX_TOKENS_SECRET",
  "MAX_TOKENS_API_KEY",
  "maxTokensPin",
  "PASSWORD_TOKENS_MAX",
  "TOTAL_TOKENS_PASSWORDS",
  "MIN_TOKEN_OTP",
  "TOKEN_NUMBER",
  "CARD_TOKEN_NUMBER",
  "numberToken",
  "",
])("%s with a number may be a credential", (name) => expect(isTokenCount(name, "16000000")).toBe(false));
