import { expect, test } from "vitest";
import { readTemplates } from "../../../src/generate/conversations/read-templates.ts";

test("issue 6.7 a template is one line; id and system are optional, and blank lines are skipped", () => {
  const text = [
    '{"id": "a", "system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]}',
    "",
    '{"messages": [{"role": "system", "content": "x"}, {"role": "assistant", "content": null, "calls": [{"name": "a::b"}, {"name": "a::c", "input": {"d": 1}}]}]}',
  ].join("\n");
  expect(readTemplates(text, "t.jsonl")).toEqual([
    { id: "a", system: "Be brief.", messages: [{ role: "user", content: "Hi" }] },
    {
      messages: [
        { role: "system", content: "x" },
        {
          role: "assistant",
          calls: [
            { name: "a::b", input: {} },
            { name: "a::c", input: { d: 1 } },
          ],
        },
      ],
    },
  ]);
});

test("issue 6.7 an input given as the JSON text of an object is parsed", () => {
  const inputOf = (input: unknown): unknown => {
    const line = JSON.stringify({ messages: [{ role: "assistant", calls: [{ name: "a::b", input }] }] });
    const [template] = readTemplates(line, "t.jsonl");
    return template?.messages.flatMap((message) => (message.role === "assistant" ? (message.calls ?? []) : []))[0]?.input;
  };
  expect(inputOf('{"article": "tea"}')).toEqual({ article: "tea" });
  for (const other of ["tea", '{"article": ', 3]) expect(inputOf(other)).toBe(other);
});

test.for([
  ["{", /^t\.jsonl:1:2: (?!.*line 1)/u],
  ["[]", /must be a JSON object/u],
  ['{"messages": []}', /at least one message/u],
  ['{"message": []}', /"message" is not a key of a template/u],
  ['{"messages": ["hi"]}', /messages\[0\] must be a JSON object/u],
  ['{"messages": [{"content": "x"}]}', /messages\[0\]\.role must be "user", "system" or "assistant", not missing/u],
  ['{"messages": [{"role": "tool"}]}', /not "tool"/u],
  ['{"messages": [{"role": "user"}]}', /messages\[0\]\.content must be a string/u],
  ['{"messages": [{"role": "user", "content": "x", "calls": []}]}', /"calls" is not a key of a message of "user"/u],
  ['{"messages": [{"role": "assistant"}]}', /neither "content" nor "calls"/u],
  ['{"messages": [{"role": "assistant", "content": "", "calls": []}]}', /neither "content" nor "calls"/u],
  ['{"messages": [{"role": "user", "content": " "}]}', /messages\[0\]\.content is empty/u],
  ['{"messages": [{"role": "system", "content": "x"}]}', /it has no message/u],
  ['{"messages": [{"role": "assistant", "calls": {}}]}', /must be an array of calls/u],
  ['{"messages": [{"role": "assistant", "calls": [{"input": {}}]}]}', /calls\[0\] must be a call/u],
  [
    '{"messages": [{"role": "assistant", "calls": [{"name": "a"}, {"name": "b", "input": {"c": "$1.id"}}]}]}',
    /calls\[1\] refers to "\$1\.id", but no call of an earlier message/u,
  ],
  ['{"messages": [{"role": "assistant", "calls": [{"id": "$x", "name": "a"}, {"id": "x", "name": "b"}]}]}', /two calls have the id "x"/u],
  ['{"id": 1, "messages": [{"role": "user", "content": "x"}]}', /"id" must be a string/u],
] as const)("issue 6.7 the line %s is rejected with its place", ([line, problem]) => {
  expect(() => readTemplates(`{"messages": [{"role": "user", "content": "x"}]}\n${line}`, "t.jsonl")).toThrow(
    expect.objectContaining({ code: "invalid_argument", details: [expect.stringMatching(/^t\.jsonl:2:/u)] }),
  );
  expect(() => readTemplates(line, "t.jsonl")).toThrow(expect.objectContaining({ details: [expect.stringMatching(problem)] }));
});

test("issue 6.7 of many invalid lines the first are reported, and an empty file is rejected", () => {
  expect(() => readTemplates("x\n".repeat(30), "t.jsonl")).toThrow(
    expect.objectContaining({ details: expect.arrayContaining(["and 11 more lines"]) }),
  );
  expect(() => readTemplates("\n\n", "t.jsonl")).toThrow(/t\.jsonl has no templates/u);
});

test("issue 16.3 every reference of a line to no earlier call is reported, also in texts; amounts of money are not references", () => {
  const line = {
    messages: [
      { role: "user", content: "For $5, or $5.50? Not $1.id yet." },
      { role: "assistant", content: "It is $2.id.", calls: [{ name: "a::b" }, { id: "c", name: "a::c", input: { d: "$3.id" } }] },
      { role: "assistant", content: "$c.id, $$c.id, $C.id and $1.id" },
    ],
  };
  expect(() => readTemplates(JSON.stringify(line), "t.jsonl")).toThrow(
    expect.objectContaining({
      details: [
        'messages[0].content refers to "$1.id"',
        'messages[1].content refers to "$2.id"',
        'messages[1].calls[1] refers to "$3.id"',
        'messages[2].content refers to "$C.id"',
      ].map((problem) => `t.jsonl:1: ${problem}, but no call of an earlier message has that id.`),
    }),
  );
});
