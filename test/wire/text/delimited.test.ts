import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { repeated } from "../../ci.ts";
import { openAiChat } from "../../../src/wire/openai-chat.ts";
import type { Delimiters } from "../../../src/wire/text/delimited-grammar.ts";
import { delimitedFormat, textFormat } from "../../../src/wire/text/formats.ts";
import { readPieces, readText, cut, tool } from "./reading.ts";

const bracket = textFormat("bracket");
const xml = textFormat("xml");
const braces = delimitedFormat("braces", { start: "{{", end: "}}", slash: "closes", arguments: "lines", prefix: "- ", separator: ": " });

describe("text that is not a call", () => {
  test("F1.40 a name that no tool has stays text", () => {
    expect(readText(bracket, "[/nope]\n@@a=1\n[nope/] and <b>bold</b>")).toEqual([[], "[/nope]\n@@a=1\n[nope/] and <b>bold</b>", ""]);
    expect(readText(xml, 'See <a href="x">this</a> and <div/>.')).toEqual([[], 'See <a href="x">this</a> and <div/>.', ""]);
  });

  test("F1.40 a block for another output stays text, because no tool has its name", () => {
    const text = "[/output_discord]\nHello all.\n[output_discord/]";
    expect(readText(textFormat("bracket"), text)).toEqual([[], text, ""]);
  });

  test("F1.40 a call without its end marker stays text", () => {
    expect(readText(bracket, "Look: [/bash]\nls [bash]")).toEqual([[], "Look: [/bash]\nls [bash]", ""]);
    expect(readText(xml, '<write path="a">never closed <read/>')).toEqual([[], '<write path="a">never closed <read/>', ""]);
  });

  test("F1.40 calls do not nest: a call inside a call is part of its body", () => {
    expect(readText(bracket, "[/write]\n@@path=a\n[/bash]ls[bash/]\n[read/]\n[write/]")).toEqual([
      [["write", { path: "a", content: "[/bash]ls[bash/]\n[read/]" }]],
      "",
      "",
    ]);
  });

  test("A21 calls inside code and quotation marks stay text", () => {
    for (const text of ["Write `[/bash]ls[bash/]` to list.", "```\n[/bash]ls[bash/]\n```", '"[/bash]ls[bash/]"', "> [/bash]ls[bash/]"])
      expect(readText(bracket, text)).toEqual([[], text, ""]);
    expect(readText(xml, "Use ``<read/>`` or\n~~~\n`<read/>`")).toEqual([[], "Use ``<read/>`` or\n~~~\n`<read/>`", ""]);
    expect(readText(bracket, "```\ncode\n```\n[/bash]ls[bash/]")).toEqual([[["bash", { command: "ls" }]], "```\ncode\n```", ""]);
  });

  test("F1.40 a truncated message returns no calls", () => {
    const { reply } = readPieces(bracket, ["[/bash]ls[bash/]"], { ending: { finish: "length" } });
    expect([reply.calls, reply.finish]).toEqual([[], "length"]);
  });
});

describe("calls", () => {
  const CALL = ["write", { path: "a.txt", content: "one\ntwo" }];

  test("F1.37 a native call and calls in brackets, in tags and with custom delimiters decode to the same call", () => {
    const call = { id: "1", type: "function", function: { name: "write", arguments: '{"path":"a.txt","content":"one\\ntwo"}' } };
    const body = {
      choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: [call] } }],
    };
    const native = openAiChat()
      .decodeReply(body)
      .calls.map(({ name, input }) => [name, input]);
    expect(native).toEqual([CALL]);
    expect(readText(bracket, "[/write]\n@@path=a.txt\none\ntwo\n[write/]")).toEqual([[CALL], "", ""]);
    expect(readText(xml, '<write path="a.txt">\none\ntwo\n</write>')).toEqual([[CALL], "", ""]);
    expect(readText(xml, '<write path="a.txt" content="one&#10;two"/>')).toEqual([[CALL], "", ""]);
    expect(readText(braces, "{{write}}\n- path: a.txt\none\ntwo\n{{/write}}")).toEqual([[CALL], "", ""]);
  });

  test("F1.38 the body is assigned to the tool's body argument", () => {
    const mapped = delimitedFormat("mapped", { start: "[", end: "]", slash: "opens", arguments: "lines", bodyArguments: { read: "path" } });
    expect(readText(bracket, "[/bash]ls -l[bash/]")[0]).toEqual([["bash", { command: "ls -l" }]]);
    expect(readText(mapped, "[/read]a.txt[read/]")[0]).toEqual([["read", { path: "a.txt" }]]);
    expect(readText(bracket, "[/my-tool]text[my-tool/]")[0]).toEqual([["my-tool", { content: "text" }]]);
  });

  test("F1.37 blank lines, indentation and spaces around keys and values are not part of the arguments", () => {
    const call = [["write", { path: "n.txt", content: "hello" }]];
    for (const text of [
      "[/write]\n@@path=n.txt\n\n@@content=hello\n[write/]",
      "[/write]\n\n  @@ path = n.txt \n\n\t@@content=hello\r\n\n[write/]",
      "[/write]  \r\n@@path=n.txt\r\n\r\nhello\r\n[write/]",
      "[/write] @@path=n.txt\nhello[write/]",
    ])
      expect(readText(bracket, text)).toEqual([call, "", ""]);
    expect(readText(bracket, "[/write]\n@@path=a\n@@\n\n @@content=x\n\n[write/]")[0]).toEqual([
      ["write", { path: "a", content: "\n @@content=x\n" }],
    ]);
    expect(readText(xml, "<write path = 'n.txt'\n content= \"hello\" />")[0]).toEqual(call);
  });

  test("F1.38 a diff is a body: its first line is not parsed as an argument", () => {
    const diff = "@@ -1,3 +1,4 @@ x = 5\n a\n+b";
    for (const lines of [`@@path=a.diff\n${diff}`, `@@path=a.diff\n@@\n${diff}`, diff])
      expect(readText(bracket, `[/write]\n${lines}\n[write/]`)[0]).toEqual([
        ["write", { ...(lines === diff ? {} : { path: "a.diff" }), content: diff }],
      ]);
    expect(readText(bracket, "[/write]\n@@ -1 +0,0 @@[write/]")[0]).toEqual([["write", { content: "@@ -1 +0,0 @@" }]]);
    expect(readText(braces, "{{write}}\n- path: a\n- one thing\n- two: x\n{{/write}}")[0]).toEqual([
      ["write", { path: "a", content: "- one thing\n- two: x" }],
    ]);
  });

  test("F1.38 the body is assigned to the only possible text argument; if there is none, it is kept with a warning", () => {
    const tools = [
      tool("files::list", { path: { type: "string" }, depth: { type: "integer" } }),
      tool("mail::send", { subject: { type: "string" }, text: { type: "string" } }),
    ];
    expect(readText(bracket, "[/files::list]src[files::list/]", { tools })[0]).toEqual([["files::list", { path: "src" }]]);
    expect(readText(xml, '<list depth="2">src</list>', { tools })[0]).toEqual([["files::list", { depth: 2, path: "src" }]]);
    const { reply, warnings } = readPieces(bracket, ["[/mail::send]Hi[mail::send/]"], { tools });
    expect(reply.calls).toEqual([{ name: "mail::send", input: { content: "Hi" } }]);
    expect(warnings).toEqual(['The call of "mail::send" has a body, but no argument for it; the body is kept as "content".']);
    expect(reply.warnings).toEqual(warnings);
    for (const name of ["mail::send", "send"])
      expect(readText(bracket, `[/${name}]Hi[${name}/]`, { tools, bodyArguments: { "mail::send": "text" } })[0]).toEqual([
        ["mail::send", { text: "Hi" }],
      ]);
  });

  test("F1.38 a body that conflicts with its argument is kept under another name, with a warning", () => {
    const { reply, warnings } = readPieces(bracket, ["[/write]\n@@path=a\n@@content=x\nbody\n[write/]"]);
    expect(reply.calls).toEqual([{ name: "write", input: { path: "a", content: "x", body: "body" } }]);
    expect(warnings).toEqual(['The call of "write" has both a body and the argument "content"; the body is kept as "body".']);
  });

  test("F1.39 text is converted to the type in the schema, and stays text if it cannot be", () => {
    const text = '[/get_weather]\n@@city=5\n@@days=5\n@@sure=true\n@@tags=["a"]\n@@deep={"x":1}\n[get_weather/]';
    expect(readText(bracket, text)[0]).toEqual([["get_weather", { city: "5", days: 5, sure: true, tags: ["a"], deep: { x: 1 } }]]);
    expect(readText(xml, '<get_weather days="many" sure="perhaps"/>')[0]).toEqual([["get_weather", { days: "many", sure: "perhaps" }]]);
    expect(readText(xml, '<read path="5"/>', { tools: [] })[0]).toEqual([]);
  });

  test("F1.42 a tag without attributes is a call", () => {
    expect(readText(xml, "<read/> <my-tool />")).toEqual([
      [
        ["read", {}],
        ["my-tool", {}],
      ],
      "",
      "",
    ]);
  });

  test("F1.42 > inside quotes is part of the value", () => {
    expect(readText(xml, '<read path="a>b"/>')[0]).toEqual([["read", { path: "a>b" }]]);
  });

  test("F1.42 a bracket directly before a call does not hide the call", () => {
    expect(readText(bracket, "[[/bash]ls[bash/]]")).toEqual([[["bash", { command: "ls" }]], "[]", ""]);
  });

  test("F1.42 ordinary text is unchanged", () => {
    expect(readText(xml, "a<b and c>d <reader> < <")).toEqual([[], "a<b and c>d <reader> < <", ""]);
  });

  test("F1.42 names may contain -, . and ::", () => {
    expect(readText(xml, '<files::list.all path="/"/>')[0]).toEqual([["files::list.all", { path: "/" }]]);
    expect(readText(bracket, "[/my-tool][my-tool/]")[0]).toEqual([["my-tool", {}]]);
  });

  test("F1.42 text is streamed at once, except for what may begin a call", () => {
    const decoding = bracket.decodeText({ tools: [] });
    expect(decoding.push("Hello, wor")).toEqual([{ type: "text-delta", text: "Hello, wor" }]);
    expect(decoding.push("ld [")).toEqual([{ type: "text-delta", text: "ld" }]);
    expect(decoding.push("x]")).toEqual([{ type: "text-delta", text: " [x]" }]);
  });

  test("a call is sealed at its end, before the message ends", () => {
    const decoding = bracket.decodeText();
    decoding.push("[/bash]ls");
    expect(decoding.push("[bash/]").at(-1)).toEqual({ type: "call-seal", index: 0, call: { name: "bash", input: { content: "ls" } } });
  });
});

test("F1.41 H07 any split gives the same calls, text and warnings", () => {
  const message = "Hi [[/write]\n@@path=a\n@@content=x\nbo`dy\n[write/] `[/bash]` [/nope] [/bash]ls[bash/] bye [/read]\n@@path=";
  const tags = 'a<b <write path="a>b" content=\'c\'>two</write> <files::list.all path="&lt;"/> `<read/>` <write path="x';
  for (const [format, text] of [
    [bracket, message],
    [xml, tags],
  ] as const) {
    const whole = readPieces(format, [text]);
    fc.assert(
      fc.property(cut(text), (pieces) => {
        const { reply, warnings } = readPieces(format, pieces);
        expect({ reply, warnings }).toEqual({ reply: whole.reply, warnings: whole.warnings });
      }),
    );
    expect(whole.reply.calls).toHaveLength(2);
  }
});

const VALUES = [
  "",
  "a>b",
  "</read>",
  "[read/]",
  "@@x=1",
  "\n",
  "  lead",
  "x\n",
  '"q"',
  "'",
  "a&b &amp; &#10;",
  "[/read]",
  "}}",
  "null",
  "5",
  "@@",
  "😀",
  "\r\n",
  "/",
];
const anyDelimiters: fc.Arbitrary<Delimiters> = fc.record(
  {
    start: fc.constantFrom("[", "<", "{{", "((", "«", "%", "@", "call: ", "|", "/", "~", "--", "```", '"'),
    end: fc.constantFrom("]", ">", "}}", "»", ";", "%", "|", "/", "~", "]\n", "=", '"', "`"),
    slash: fc.constantFrom("opens" as const, "closes" as const),
    arguments: fc.constantFrom("lines" as const, "attributes" as const),
    prefix: fc.constantFrom("-", "--", "arg ", ":", "\t@", "<"),
    separator: fc.constantFrom(":", "->", " ", "==", " = "),
  },
  { requiredKeys: ["start", "end", "slash", "arguments"] },
);

test("F1.37 F1.41 with any delimiters, calls are read as they were written, however they are split", () => {
  const inputOf = (...keys: string[]): fc.Arbitrary<Record<string, string>> =>
    fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...VALUES), { maxKeys: 3 });
  const call = fc.oneof(
    fc.record({ name: fc.constant("write"), input: inputOf("path", "content") }),
    fc.record({ name: fc.constant("my-tool"), input: inputOf("path", "content", "x y", "a=b") }),
  );
  fc.assert(
    fc.property(anyDelimiters, fc.array(call, { minLength: 1, maxLength: 2 }), (delimiters, calls) => {
      const format = delimitedFormat("any", delimiters);
      const text = format.writeCalls(calls);
      for (const pieces of [[text], text.split("")]) expect(readPieces(format, pieces).reply.calls).toEqual(calls);
    }),
    { numRuns: repeated(500) },
  );
});

test("F1.37 a slash that opens, with attributes: the form that a model is told is the one that is read", () => {
  const format = delimitedFormat("x", { start: "[", end: "]", slash: "opens", arguments: "attributes" });
  expect(format.writeCalls([{ name: "read", input: { path: "a" } }])).toBe('[/read path="a"][read/]');
  expect(readText(format, '[/read path="a"][read/] [/read path="b"/]')[0]).toEqual([
    ["read", { path: "a" }],
    ["read", { path: "b" }],
  ]);
});

describe("F1.37 unusable delimiters throw at once", () => {
  const whole = { start: "[", end: "]", slash: "opens", arguments: "lines" };
  test.each([
    ["none", undefined, 'The options of the text format "x" must be an object, not undefined.'],
    ["without any", {}, 'start of the text format "x" must be a string that is not empty.'],
    ["an empty start", { ...whole, start: "" }, 'start of the text format "x" must be a string that is not empty.'],
    ["no end", { ...whole, end: undefined }, 'end of the text format "x" must be a string that is not empty.'],
    ["a number for an end", { ...whole, end: 5 }, 'end of the text format "x" must be a string that is not empty.'],
    ["an empty prefix", { ...whole, prefix: "" }, 'prefix of the text format "x" must be a string that is not empty.'],
    ["an empty separator", { ...whole, separator: "" }, 'separator of the text format "x" must be a string that is not empty.'],
    ["no slash", { ...whole, slash: undefined }, 'slash of the text format "x" must be opens or closes.'],
    ["another slash", { ...whole, slash: "toString" }, 'slash of the text format "x" must be opens or closes.'],
    ["a start after white space", { ...whole, start: "\n[" }, 'start of the text format "x" must not begin with white space: "\\n[".'],
    ["a line end for an end", { ...whole, end: "\n" }, 'end of the text format "x" must not begin with white space: "\\n".'],
    ["an end of names", { ...whole, end: ":" }, 'end of the text format "x" must begin with a character that no name has: ":".'],
    ["a letter for an end", { ...whole, end: "é" }, 'end of the text format "x" must begin with a character that no name has: "é".'],
    ["a blank prefix", { ...whole, prefix: "  " }, 'prefix of the text format "x" must not be only white space: "  ".'],
    ["lines in a prefix", { ...whole, prefix: "a\n-" }, 'prefix of the text format "x" must not contain a line end: "a\\n-".'],
    ["a line end for a separator", { ...whole, separator: "\n" }, 'separator of the text format "x" must not contain a line end: "\\n".'],
    [
      "a number for bodyArguments",
      { ...whole, bodyArguments: 5 },
      'The option "bodyArguments" of the text format "x" must be an object, not a number.',
    ],
    ["no arguments", { ...whole, arguments: undefined }, 'arguments of the text format "x" must be lines or attributes.'],
  ])("%s", (_what, given: unknown, message) => {
    const making = (): unknown => delimitedFormat("x", given as Delimiters); // what plain JavaScript may pass
    expect(making).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });
});
