import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { FINISH_REASONS, endedWell, type ModelEvent, type ModelReply } from "../../src/core/model.ts";
import { ReplyBuilder, parseArguments } from "../../src/wire/reply-builder.ts";

type Operation = (builder: ReplyBuilder) => void;

const TWO = {
  tool_uses: [
    { recipient_name: "functions.a", parameters: { x: 1 } },
    { recipient_name: "b", parameters: {} },
  ],
};
const keys = fc.nat(3);
const texts = fc.constantFrom("", "a", "{", "}", '{"x":', "1}", "{}", "null", '"{}"', "[1]", "{bad}", JSON.stringify(TWO));
const callNames = fc.constantFrom("", "a", "ns__b", "functions.a", "parallel", "__proto__");
const kinds = fc.constantFrom("function", "custom", undefined);

const unfinished: fc.Arbitrary<Operation> = fc.oneof(
  texts.map(
    (text): Operation =>
      (builder) =>
        builder.addText(text),
  ),
  texts.map(
    (text): Operation =>
      (builder) =>
        builder.addReasoning(text),
  ),
  fc.tuple(keys, callNames, kinds).map(
    ([key, name, kind]): Operation =>
      (builder) =>
        builder.openCall(key, { id: `id_${key}`, name, kind }),
  ),
  fc.tuple(keys, texts).map(
    ([key, text]): Operation =>
      (builder) =>
        builder.addArgumentText(key, text),
  ),
  fc.tuple(keys, fc.constantFrom({ y: 2 }, TWO, "{}", "{cut", null, 5)).map(
    ([key, input]): Operation =>
      (builder) =>
        builder.setInput(key, input),
  ),
  keys.map(
    (key): Operation =>
      (builder) =>
        builder.sealCall(key),
  ),
  fc.constant<Operation>((builder) => builder.sealAllCalls()),
  keys.map(
    (key): Operation =>
      (builder) =>
        builder.addProviderCall({ name: `p${key}`, kind: "web_search_call" }),
  ),
  keys.map(
    (key): Operation =>
      (builder) =>
        builder.addMedia({ type: "image", mediaType: "image/png", data: `${key}` }),
  ),
  fc.constant<Operation>((builder) => builder.voidReply("again")),
  fc.constant<Operation>((builder) => builder.setNative({ format: "some", blocks: [1] })),
);
const operations = fc.oneof(
  { weight: 11, arbitrary: unfinished },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...FINISH_REASONS).map(
      (reason): Operation =>
        (builder) =>
          builder.setFinish(reason),
    ),
  },
);
const badEnds = fc.constantFrom(...FINISH_REASONS.filter((reason) => !endedWell(reason)));

/** What every operation told, one list each, and the reply. */
function build(some: readonly Operation[]): {
  readonly events: readonly ModelEvent[];
  readonly reply: ModelReply;
  readonly builder: ReplyBuilder;
} {
  const builder = new ReplyBuilder();
  const events: ModelEvent[] = [];
  for (const operation of some) {
    operation(builder);
    events.push(...builder.takeEvents());
  }
  const reply = builder.endReply();
  events.push(...builder.takeEvents());
  return { events, reply, builder };
}

function ofType<Type extends ModelEvent["type"]>(
  events: readonly ModelEvent[],
  type: Type,
): readonly Extract<ModelEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<ModelEvent, { type: Type }> => event.type === type);
}

test("F4.20 the events since the last reply-void contain all of the reply, once and in order", () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 40 }), (some) => {
      const { events, reply } = build(some);
      const since = events.slice(events.findLastIndex(({ type }) => type === "reply-void") + 1);
      const seals = ofType(since, "call-seal");
      expect(
        ofType(since, "text-delta")
          .map(({ text }) => text)
          .join(""),
      ).toBe(reply.text);
      expect(
        ofType(since, "reasoning-delta")
          .map(({ text }) => text)
          .join(""),
      ).toBe(reply.reasoning);
      expect(ofType(since, "provider-call").map(({ call }) => call)).toEqual(reply.providerCalls);
      expect(seals.map(({ index }) => index)).toEqual(seals.map((_, index) => index));
      expect(reply.calls).toEqual(endedWell(reply.finish) ? seals.map(({ call }) => call) : []);
      expect(events.filter(({ type }) => type === "reply-end")).toEqual([{ type: "reply-end", reply }]);
      expect(events.at(-1)?.type).toBe("reply-end");
    }),
  );
});

test("F4.20 a call is opened once, and its deltas follow", () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 40 }), (some) => {
      let opened = new Set<number>();
      for (const event of build(some).events) {
        if (event.type === "reply-void") opened = new Set();
        else if (event.type === "call-open") {
          expect(opened.has(event.index)).toBe(false);
          opened.add(event.index);
        } else if (event.type === "call-delta") expect(opened.has(event.index)).toBe(true);
      }
    }),
  );
});

test("H07 a reply that did not end normally seals no call whose arguments may be truncated", () => {
  fc.assert(
    fc.property(fc.array(unfinished, { maxLength: 40 }), badEnds, (some, reason) => {
      const { events, reply } = build([...some, (builder) => builder.setFinish(reason)]);
      expect(reply.calls).toEqual([]);
      for (const { call } of ofType(events, "call-seal")) expect(isJsonObject(call.input as JsonValue)).toBe(true);
    }),
  );
});

test("operations after the end are ignored", () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 10 }), fc.array(operations, { maxLength: 10 }), (before, after) => {
      const { builder, reply } = build(before);
      const was = structuredClone(reply);
      for (const operation of after) operation(builder);
      expect([builder.takeEvents(), builder.endReply(), builder.endReply() === reply]).toEqual([[], was, true]);
    }),
  );
});

test("H07 a call with truncated arguments is sealed at the end of a reply that ends normally, and never otherwise", () => {
  const cut = (finish: "calls" | "length"): readonly string[] => {
    const operationsOf: readonly Operation[] = [
      (builder) => builder.openCall("one", { id: "1", name: "a" }),
      (builder) => builder.addArgumentText("one", '{"path": "/et'),
      (builder) => builder.sealCall("one"),
      (builder) => builder.openCall("two", { id: "2", name: "b" }),
      (builder) => builder.sealCall("two"),
      (builder) => builder.setFinish(finish),
    ];
    return build(operationsOf).events.map(({ type }) => type);
  };
  expect(cut("length")).toEqual(["call-open", "call-delta", "call-open", "reply-end"]);
  expect(cut("calls")).toEqual(["call-open", "call-delta", "call-open", "call-seal", "call-seal", "reply-end"]);
});

test("F4.20 argument deltas that arrive before the name of their call are held back until it arrives", () => {
  const { events } = build([
    (builder) => builder.openCall(0, { id: "1" }),
    (builder) => builder.addArgumentText(0, '{"x"'),
    (builder) => builder.addArgumentText(0, ":1"),
    (builder) => builder.openCall(0, { name: "a" }),
    (builder) => builder.addArgumentText(0, "}"),
  ]);
  expect(events.slice(0, -1)).toEqual([
    { type: "call-open", index: 0, name: "a" },
    { type: "call-delta", index: 0, text: '{"x":1' },
    { type: "call-delta", index: 0, text: "}" },
  ]);
});

test("H07 a normal finish reason after a bad one does not make a reply complete", () => {
  const { reply } = build([
    (builder) => builder.openCall(0, { id: "1", name: "a" }),
    (builder) => builder.setFinish("length", "max_tokens"),
    (builder) => builder.setFinish("calls", "tool_use"),
  ]);
  expect(reply).toMatchObject({ finish: "length", finishDetail: "max_tokens", calls: [] });
});

test("a wrapper with one call decodes to that call, and the reply has no native form", () => {
  const { reply } = build([
    (builder) => builder.openCall(0, { id: "w", name: "parallel" }),
    (builder) => builder.setInput(0, { tool_uses: [{ recipient_name: "functions.web__get", parameters: { x: 1 } }] }),
    (builder) => builder.setNative({ format: "some", blocks: [] }),
    (builder) => builder.setFinish("calls"),
  ]);
  expect({ calls: reply.calls, native: reply.native }).toEqual({
    calls: [{ id: "w_0", name: "web::get", input: { x: 1 } }],
    native: undefined,
  });
});

test("A19 the calls in wrappers count towards the limit of a message", () => {
  const uses = Array.from({ length: 64 }, () => ({ recipient_name: "functions.a", parameters: {} }));
  const wrappers = Array.from({ length: 65 }, (_, index): Operation => (builder) => {
    builder.openCall(index, { name: "parallel" });
    builder.setInput(index, { tool_uses: uses });
    builder.sealCall(index);
  });
  expect(() => build(wrappers)).toThrow("more than 4096 calls");
});

test.each([
  ["", {}],
  [" \n", {}],
  ["null", {}],
  ['{"a":1}', { a: 1 }],
  ['"{\\"a\\":1}"', { a: 1 }],
  ['"plain"', "plain"],
  ["[1]", [1]],
  ["7", 7],
  ['{"a":1,"a":2}', '{"a":1,"a":2}'],
  ['{"a":12345678901234567890}', '{"a":12345678901234567890}'],
  ['{"a', '{"a'],
])("F4.17 the arguments %j are read as %j", (text, input) => {
  expect(parseArguments(text)).toEqual(input);
});

test("an argument named __proto__ is an own key, and does not pollute a prototype", () => {
  const input = parseArguments('{"__proto__":{"polluted":true}}');
  expect([Object.keys(input ?? {}), Object.getPrototypeOf(input), Reflect.get({}, "polluted")]).toEqual([
    ["__proto__"],
    Object.prototype,
    undefined,
  ]);
});
