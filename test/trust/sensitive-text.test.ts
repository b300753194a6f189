import { expect, test } from "vitest";
import { findSecrets } from "../../src/trust/sensitive-text.ts";

const LONG = 8_000_000;

test.each([
  ["a word of letters", "a".repeat(LONG), undefined],
  ["a word of digits", "1".repeat(LONG), undefined],
  ["an API key", `sk-${"a1".repeat(LONG / 2)}`, "API key"],
  ["a key of one letter", `ghp_${"a".repeat(LONG)}`, "API key"],
  ["a token in three parts", `eyJ${"a".repeat(LONG)}.aaaa.${"b".repeat(LONG)}`, "signed token"],
  ["a header", `Bearer ${"a".repeat(LONG)}`, "credentials of a header"],
  ["a token of an address", `?token=${"a".repeat(LONG)}`, "token of an address"],
  ["a key of an address", `?key=${"1a".repeat(LONG / 2)}`, "key of an address"],
  ["a named secret", `password=${"b".repeat(LONG)}`, "named secret"],
  ["a value that is masked", `password=${"*".repeat(LONG)}`, undefined],
  ["a private key", `-----BEGIN PRIVATE KEY-----\n${"a".repeat(LONG)}`, "private key"],
])("secrets are found in a text of millions of characters without a space: %s", (_, text, what) => {
  const found = findSecrets(text);
  expect([found[0]?.what, found.at(-1)?.end]).toEqual(what === undefined ? [undefined, undefined] : [what, text.length]);
});
