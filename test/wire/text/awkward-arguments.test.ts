/** Names and values of arguments that are no plain words: what a format writes it reads, and what models write in tags comes back whole. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { inCI } from "../../ci.ts";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../../src/core/base/json.ts";
import { rolesOf } from "../../../src/wire/text/grammar-roles.ts";
import { TEXT_FORMATS, getGrammar, textFormat } from "../../../src/wire/text/formats.ts";
import { cut, readPieces, readText, tool } from "./reading.ts";

const NAMES = [...TEXT_FORMATS.keys()];
const KEYS = ["$top", "user.id", "filter[status]", "First Name", "x-y", "1", "größe", "@type", "a/b", "user's"];
const VALUES = [
  "",
  " ",
  "\n",
  "a\n",
  "\r\na\r\n",
  "null",
  "5",
  "{}",
  "it's {",
  '"\\',
  "<parameters>x</parameters>",
  "</parameter>",
  "</param></function></invoke>",
  "a</｜DSML｜parameter>",
  "x\n<parameter=path>\ny",
  "<![CDATA[",
  " <![CDATA[ x",
  "<![CDATA[x]]>",
  "<![CDATA[x]]> y",
  "]]>",
  "</parameter>]]>",
  "<![CDATA[a]]></parameter><![CDATA[b]]>",
  '<|"|>x<|"|>',
  "<escape>",
  "@@ -1,3 +1,4 @@\n a\n+b",
];

/** An attribute is named by one word. */
const keysOf = (name: string): readonly string[] => (name === "xml" ? KEYS.filter((key) => !/[\s']/u.test(key)) : KEYS);

/** The line of an argument is one line without its outer blanks; a value that has several is the body, of which there is one. */
const fitsLine = (value: string): boolean => value === value.trim() && !value.includes("\n");

/** Parts of names and values: what ends, begins or separates something in one format or another. */
const PIECES = [
  ..."<>=\"'&/\\ \n\t%@[]{}():,;|*`#-".split(""),
  "a",
  "z9",
  "é😀",
  "\u2028",
  "&amp;",
  "&#32;",
  "</",
  "<|",
  "]]>",
  "<![CDATA[",
  "@@",
  "@@a=",
  ' name="x"',
  ' string="true"',
  "__proto__",
  "item",
  "null",
  "5",
  "{}",
];
const HOSTILE = fc.string({ unit: fc.constantFrom(...PIECES), minLength: 1, maxLength: 6 });

function schemaOf(value: JsonValue): JsonObject {
  if (isJsonArray(value)) return { type: "array", items: { type: "string" } };
  if (isJsonObject(value))
    return { type: "object", properties: Object.fromEntries(Object.entries(value).map(([key, one]) => [key, schemaOf(one)])) };
  return { type: value === null ? "null" : typeof value };
}

describe.each(NAMES)("hostile names and values in %s", (name) => {
  const format = textFormat(name);
  const own = [...rolesOf(getGrammar(name)).roles.keys(), format.writeCalls([{ name: "find", input: { a: "b" } }])];
  const text = fc.oneof(
    HOSTILE,
    fc.constantFrom("", ...own),
    fc.tuple(HOSTILE, fc.constantFrom(...own), HOSTILE).map((parts) => parts.join("")),
  );
  const key = fc.oneof(HOSTILE, fc.constantFrom("a", "content", "arguments", "item", "__proto__", ...own));
  const scalar = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
  const value = fc.oneof(
    { weight: 4, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(text, { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.dictionary(key, scalar, { maxKeys: 3, noNullPrototype: true }) },
  ) as fc.Arbitrary<JsonValue>;

  test("F1.37 A06 round-trip: whole, split anywhere, and character by character", () => {
    const message = fc.dictionary(key, value, { minKeys: 1, maxKeys: 3, noNullPrototype: true }).chain((input) => {
      const written = format.writeCalls([{ name: "find", input }]);
      return cut(written).map((pieces) => ({ input, written, pieces }));
    });
    fc.assert(
      fc.property(message, ({ input, written, pieces }) => {
        const tools = [tool("find", Object.fromEntries(Object.entries(input).map(([key, one]) => [key, schemaOf(one)])))];
        const reading = { calls: [{ name: "find", input }], text: "" };
        for (const some of [[written], pieces, written.split("")]) {
          const { reply } = readPieces(format, some, { tools });
          expect({
            calls: reply.calls.map(({ name: called, input: given }) => ({ name: called, input: given })),
            text: reply.text,
          }).toEqual(reading);
        }
      }),
      { numRuns: inCI ? 300 : 60 },
    );
  });
});

describe.each(NAMES)("%s", (name) => {
  const format = textFormat(name);
  const keys = keysOf(name);
  const properties = Object.fromEntries(keys.map((key) => [key, { type: "string" }]));

  test("F1.37 a call round-trips whatever its arguments are named, with or without a known tool", () => {
    const key = fc.constantFrom(...keys);
    const input = fc.dictionary(key, fc.constantFrom("v", "a b", "x-1"), { minKeys: 1 });
    fc.assert(
      fc.property(input, fc.boolean(), (given, known) => {
        const options = known || name === "kimi-k2" ? { tools: [tool("find", properties)] } : { tools: [], unknownTools: "call" as const };
        const [calls] = readText(format, format.writeCalls([{ name: "find", input: given }]), options);
        expect(calls).toEqual([["find", given]]);
      }),
      { numRuns: inCI ? 100 : 20 },
    );
  });

  test("F1.37 names inside an argument round-trip too", () => {
    const tools = [tool("find", { where: { type: "object", properties } })];
    const input = { where: Object.fromEntries(keys.map((key) => [key, "v"])) };
    expect(readText(format, format.writeCalls([{ name: "find", input }]), { tools })[0]).toEqual([["find", input]]);
  });

  test("F1.37 a tool is called by the name under which it is described", () => {
    const tools = [tool("brave::brave-web-search", { q: { type: "string" } })];
    const [called] = tools.map((one) => format.nameOf(one));
    const written = format.writeCalls([{ name: called ?? "", input: { q: "x" } }]);
    expect(readText(format, written, { tools })[0]).toEqual([["brave::brave-web-search", { q: "x" }]]);
  });

  test("H02 a value that contains markers of the format, or a call, makes no other call and does not hide its own", () => {
    const call = format.writeCalls([{ name: "bash", input: { command: "ls" } }]);
    const pair = ["</arg_value>", "<arg_key>path</arg_key>", "[write/]", "[/bash]", "x", "\n", "]<]minimax[>[", call, call.slice(-20)];
    const marks = fc.array(fc.constantFrom(...rolesOf(getGrammar(name)).roles.keys(), ...pair), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(marks, (parts) => {
        const calls = [
          { name: "write", input: { path: "a", content: parts.join("") } },
          { name: "read", input: { path: "b" } },
        ];
        const [read] = readText(format, format.writeCalls(calls));
        const visible = JSON.parse(JSON.stringify(read).replaceAll("\u200b", ""));
        expect(visible).toEqual(calls.map(({ name: called, input }) => [called, input]));
      }),
      { numRuns: inCI ? 200 : 40 },
    );
  });

  test("F1.37 any two values round-trip", () => {
    const paths = VALUES.filter((value) => name !== "bracket" || fitsLine(value));
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.constantFrom(...VALUES), (path, content) => {
        const input = { path, content };
        expect(readText(format, format.writeCalls([{ name: "write", input }]))[0]).toEqual([["write", input]]);
      }),
      { numRuns: inCI ? 300 : 60 },
    );
  });
});

/** Formats whose values are between tags, as they are. */
const TAGGED = [
  "qwen3-coder",
  "seed-oss",
  "minimax-m2",
  "invoke",
  "step-3",
  "minicpm-5",
  "deepseek-dsml",
  "kimi-k3",
  "muse-glimmer",
  "glm",
  "minimax-m3",
];

describe.each(TAGGED)("a value written by a model in %s", (name) => {
  const format = textFormat(name);
  const modelWrites = (value: string): string =>
    format.writeCalls([{ name: "write", input: { path: "p", content: "VALUE" } }]).replace("VALUE", () => value);

  test.each([
    "<plugin>\n  <parameters>true</parameters>\n  <params/>\n</plugin>",
    "/** <params> and <parameterized> */",
    'Say <parameter name="path"> or <param name="path"> or <parameter=path> in your text.',
    '<job>\n<parameter name="id">\n<param name="id">\n<parameter=id>\n</job>',
    "<![CDATA[x]]> y",
    "<![CDATA[x]]> and <![CDATA[y]]>",
    "\t<b>x</b>",
    "Values end with </parameter> </param> </arg_value> </steptml:parameter> </｜DSML｜parameter> </atem:parameter> <|close|>argument<|sep|> and so on.",
    "Calls end with </function> </invoke> </tool_call> </steptml:invoke> </｜DSML｜invoke> </atem:invoke> <|close|>call<|sep|> and so on.",
  ])("F1.37 %j is read as the value, and no marker inside ends it", (value) => {
    expect(readText(format, modelWrites(value))[0]).toEqual([["write", { path: "p", content: value }]]);
  });
});

/** Formats whose tags name an argument as it is. */
const NAMED_BY_TAG = [
  "qwen3-coder",
  "seed-oss",
  "minimax-m2",
  "invoke",
  "step-3",
  "minicpm-5",
  "deepseek-dsml",
  "gigachat-3.5",
  "dots",
  "muse-glimmer",
  "glm",
];

describe.each(NAMED_BY_TAG)("a name written by a model into a tag of %s", (name) => {
  const format = textFormat(name);
  const modelWrites = (key: string): string => format.writeCalls([{ name: "find", input: { KEY: "v", z: "w" } }]).replace("KEY", () => key);

  test.each(['a"b', "a'b", "a<b", "a>b", "a=b", "price>=", "a b", " a", "a ", "a\nb", 'a"', '"a"', "=a", "<", ">", '"', "=", 'name="x"'])(
    "F1.37 A06 %j is read as the argument of that name, and not of a shorter one",
    (key) => {
      const properties = { [key]: { type: "string" }, z: { type: "string" } };
      expect(readText(format, modelWrites(key), { tools: [tool("find", properties)] })[0]).toEqual([["find", { [key]: "v", z: "w" }]]);
    },
  );

  test.each(['a"b', 'a"', "a=b"])("F1.37 A06 %j is not read as a shorter name if the tool has no such argument", (key) => {
    const [calls] = readText(format, modelWrites(key), { tools: [tool("find", { a: { type: "string" } })] });
    // A name in a tag of its own is read as a whole.
    expect(calls).toEqual(name === "glm" ? [["find", { [key]: "v", z: "w" }]] : []);
  });
});

test("F1.37 bracket: a line is matched to the longest argument name of the tool, and a quoted name is read as JSON", () => {
  const tools = [tool("find", { "a=b": { type: "string" }, a: { type: "string" }, n: { type: "integer" } })];
  const says = String.raw`[/find]
@@a=b=c
@@a=x=y
@@"n"=5
[find/]`;
  expect(readText(textFormat("bracket"), says, { tools })[0]).toEqual([["find", { "a=b": "c", a: "x=y", n: 5 }]]);
});

test("F1.37 deepseek-dsml: the string attribute decides whether a value is text, and its line breaks are kept", () => {
  const dsml = textFormat("deepseek-dsml");
  const input = { city: "\nParis\n", days: 3, none: null, tags: ["a"] };
  const written = dsml.writeCalls([{ name: "get_weather", input }]);
  expect(written).toContain('<｜DSML｜parameter name="city" string="true">\nParis\n</｜DSML｜parameter>');
  expect(written).toContain('<｜DSML｜parameter name="none" string="false">null</｜DSML｜parameter>');
  for (const tools of [[], [tool("get_weather", {})]]) expect(readText(dsml, written, { tools })[0]).toEqual([["get_weather", input]]);
});

test("F1.37 gemma and Python: names need no quotes if their end is unambiguous", () => {
  const tools = [tool("find", {})];
  const input = { $top: 5, "user.id": "x", "filter[status]": "y", "First Name": "z", deep: { $gt: 1 } };
  const gemma =
    '<|tool_call>call:find{$top:5,user.id:<|"|>x<|"|>,filter[status]:<|"|>y<|"|>,First Name:<|"|>z<|"|>,deep:{$gt:1}}<tool_call|>';
  expect(readText(textFormat("gemma-4"), gemma, { tools })[0]).toEqual([["find", input]]);
  const python = '[find($top=5, user.id="x", filter[status]="y", First Name="z", deep={"$gt": 1})]';
  expect(readText(textFormat("pythonic"), python, { tools })[0]).toEqual([["find", input]]);
  const unpacked = '[find(**{"$top": 5, "user.id": "x"}, **{"filter[status]": "y", "First Name": "z"}, deep={"$gt": 1})]';
  expect(readText(textFormat("pythonic"), unpacked, { tools })[0]).toEqual([["find", input]]);
});
