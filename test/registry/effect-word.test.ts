import { Registry, defineTool, pure, readOnly, type Effects } from "haft";
import { expect, test } from "vitest";
import { effectWord, type EffectWord } from "../../src/registry/effect-word.ts";

test.each<[EffectWord, Effects | undefined]>([
  ["pure", pure],
  ["reads", readOnly("stock")],
  ["reads", { reads: "stock:{item}" }],
  ["writes", { writes: "stock:{item}" }],
  ["writes", { reads: ["stock"], writes: ["orders"], idempotent: true }],
  ["destructive", { writes: ["stock"], destructive: true }],
  ["undeclared", { external: true }],
  ["undeclared", undefined],
])("effectWord is %s for the effects %j", (word, effects) => {
  const registry = new Registry();
  const inputSchema = { type: "object", properties: { item: { type: "string" } } };
  const declared = effects === undefined ? {} : { effects };
  const registered = registry.register(
    defineTool({ name: "t", description: "Does something.", inputSchema, ...declared, execute: () => null }),
  );
  expect(effectWord(registered)).toBe(word);
});
