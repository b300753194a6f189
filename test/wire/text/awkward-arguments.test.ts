/** Names and values of arguments that are no plain words: what a format writes it reads, and what models write in tags comes back whole. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { inCI } from "../../ci.ts";
import { rolesOf } from "../../../src/wire/text/grammar-roles.ts";
import { TEXT_FORMATS, grammarOf, textFormat } from "../../../src/wire/text/formats.ts";
import { readText, tool } from "./reading.ts";

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

describe.each(NAMES)("%s", (name) => {
  const format = textFormat(name);
  const keys = keysOf(name);
  const properties = Object.fromEntries(keys.map((key) => [key, { type: "string" }]));

  test("F1.37 a call comes back, whatever its arguments are named, with or without a tool of them", () => {
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

  test("F1.37 names inside of an argument come back as well", () => {
    const tools = [tool("find", { where: { type: "object", properties } })];
    const input = { where: Object.fromEntries(keys.map((key) => [key, "v"])) };
    expect(readText(format, format.writeCalls([{ name: "find", input }]), { tools })[0]).toEqual([["find", input]]);
  });

  test("F1.37 a tool is called by the name that it is described by", () => {
    const tools = [tool("brave::brave-web-search", { q: { type: "string" } })];
    const [called] = tools.map((one) => format.nameOf(one));
    const written = format.writeCalls([{ name: called ?? "", input: { q: "x" } }]);
    expect(readText(format, written, { tools })[0]).toEqual([["brave::brave-web-search", { q: "x" }]]);
  });

  test("H02 a value that holds marks of the format, or a call, makes no other call and does not lose its own", () => {
    const call = format.writeCalls([{ name: "bash", input: { command: "ls" } }]);
    const pair = ["</arg_value>", "<arg_key>path</arg_key>", "[write/]", "[/bash]", "x", "\n", "]<]minimax[>[", call, call.slice(-20)];
    const marks = fc.array(fc.constantFrom(...rolesOf(grammarOf(name)).roles.keys(), ...pair), { minLength: 1, maxLength: 4 });
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

  test("F1.37 any two values come back", () => {
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

describe.each(TAGGED)("a value that a model writes in %s", (name) => {
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
  ])("F1.37 %j is the value, and no mark in it ends it", (value) => {
    expect(readText(format, modelWrites(value))[0]).toEqual([["write", { path: "p", content: value }]]);
  });
});

test("F1.37 deepseek-dsml: the tag says whether a value is a text, and its line ends are part of it", () => {
  const dsml = textFormat("deepseek-dsml");
  const input = { city: "\nParis\n", days: 3, none: null, tags: ["a"] };
  const written = dsml.writeCalls([{ name: "get_weather", input }]);
  expect(written).toContain('<｜DSML｜parameter name="city" string="true">\nParis\n</｜DSML｜parameter>');
  expect(written).toContain('<｜DSML｜parameter name="none" string="false">null</｜DSML｜parameter>');
  for (const tools of [[], [tool("get_weather", {})]]) expect(readText(dsml, written, { tools })[0]).toEqual([["get_weather", input]]);
});

test("F1.37 gemma and Python: names need no quotes where their end is plain", () => {
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
