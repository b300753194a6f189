/** What every text format promises, whichever it is: a new row of the table is tried by all of this. */
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { rolesOf } from "../../../src/wire/text/grammar-roles.ts";
import { TEXT_FORMATS, getGrammar, textFormat } from "../../../src/wire/text/formats.ts";
import type { DecodeTextOptions } from "../../../src/wire/text/text-format.ts";
import { decodeRow, formatOf, inputOf, readRows, type Row } from "./case-rows.ts";
import { cut, readPieces, readText, tool } from "./reading.ts";

const NAMES = [...TEXT_FORMATS.keys()];
const CALLS = [
  { name: "write", input: { path: "a", content: "b c" } },
  { name: "bash", input: { command: "ls" } },
];
const AS_READ = CALLS.map(({ name, input }) => [name, input]);
const auto = textFormat("auto");

/** They write calls as people and programs write other things, so that `auto` leaves them alone. */
const OPEN = new Set([
  "bracket",
  "xml",
  "json",
  "react",
  "hermes-loose",
  "llama-3",
  "pythonic",
  "xlam",
  "functionary-3.2",
  "command-r-plus",
]);

const thinkingOf = (name: string): readonly (readonly [string, string])[] =>
  rolesOf(getGrammar(name)).thinking.flatMap(([open, ...closes]) => closes.map((close) => [open, close] as const));

describe.each(NAMES.filter((name) => !OPEN.has(name)))("auto and %s", (name) => {
  const format = textFormat(name);
  const written = format.writeCalls(CALLS);

  test("F1.37 auto reads what the format writes, and the text around it, as the format does", () => {
    for (const text of [
      written,
      `Before.\n${written}\nBehind.`,
      ...thinkingOf(name).map(([open, close]) => `${open}Hm.${close}${written}`),
    ])
      expect(readText(auto, text)).toEqual(readText(format, text));
    expect(readText(auto, written)).toEqual([AS_READ, "", ""]);
  });

  test("F1.37 thinking opened by the prompt ends for auto where it ends for the format", () => {
    for (const [, close] of thinkingOf(name)) {
      const text = `Hm.${close}${written}`;
      expect(readText(auto, text, { thinking: "begun" })).toEqual(readText(format, text, { thinking: "begun" }));
      expect(readText(auto, text, { thinking: "begun" })[0]).toEqual(AS_READ);
    }
  });

  test("F1.37 auto reads calls without their first markers, or without their last, as the format does", () => {
    for (let at = 0; at <= written.length; at++)
      for (const text of [written.slice(at), written.slice(0, at)]) {
        const [calls] = readText(format, text);
        if (calls.length > 0) expect([text, readText(auto, text)[0]]).toEqual([text, calls]);
      }
  });

  test("F1.37 auto reads calls after unclosed thinking as the format does", () => {
    for (const [open] of thinkingOf(name)) {
      const [calls] = readText(format, `${open}Hm.${written}`);
      if (calls.length > 0) expect(readText(auto, `${open}Hm.${written}`)[0]).toEqual(calls);
    }
  });
});

const FILES = [
  "text-formats/vllm-parser-cases.json",
  "text-formats/ollama-parser-cases.json",
  "malformed/vllm_tool_parsers.json",
  "malformed/sglang_function_call.json",
];

test.each(FILES)("F1.37 %s: auto reads calls of formats with unique markers as the format does", (file) => {
  const own = (row: Row): boolean =>
    getGrammar(formatOf(row)).calls.every(
      ({ mark, where = "anywhere", shared = false }) => (where === "anywhere" && !shared) || !inputOf(row).includes(mark),
    );
  const rows = (readRows(file) ?? []).filter(own);
  const differing = rows.filter((row) => {
    const { calls } = decodeRow(row, [inputOf(row)]).reply;
    return calls.length > 0 && JSON.stringify(decodeRow(row, [inputOf(row)], "auto").reply.calls) !== JSON.stringify(calls);
  });
  expect(differing.map(inputOf)).toEqual([]);
});

describe.each(NAMES)("%s", (name) => {
  const format = textFormat(name);
  const written = format.writeCalls(CALLS);

  test("A21 a call inside thinking does not run, whether thinking is split off, begun by the prompt or kept", () => {
    for (const [open, close] of thinkingOf(name)) {
      const inside = `I might ${written} or\n${written}\nso`;
      expect(readText(format, `${open}${inside}${close}No.`)[0]).toEqual([]);
      expect(readText(format, `${inside}${close}No.`, { thinking: "begun" })[0]).toEqual([]);
      const kept = `${open}${inside}${close}No.`;
      expect(readText(format, kept, { thinking: "keep" })).toEqual([[], kept, ""]);
      expect(readText(format, `${kept}\n${written}`, { thinking: "keep" })[0]).toEqual(AS_READ);
    }
  });

  test("F1.41 H07 the reply is the same for any split and any thinking mode", () => {
    const marks = [...rolesOf(getGrammar(name)).roles.keys()];
    const text = fc.array(
      fc.oneof(fc.constantFrom(...marks, written, " x ", "\n", "`"), fc.constantFrom(...thinkingOf(name).flat(), "y")),
      { maxLength: 8 },
    );
    const modes = fc.constantFrom("split", "begun", "keep") as fc.Arbitrary<NonNullable<DecodeTextOptions["thinking"]>>;
    const message = text.map((parts) => parts.join("")).chain((whole) => cut(whole).map((pieces) => ({ whole, pieces })));
    fc.assert(
      fc.property(message, modes, ({ whole, pieces }, thinking) => {
        expect(readPieces(format, pieces, { thinking }).reply).toEqual(readPieces(format, [whole], { thinking }).reply);
      }),
      { numRuns: 60 },
    );
  });

  test("F1.41 a call marker at the end of a chunk consumes no more of the next chunk than of the whole text", () => {
    const marks = [...rolesOf(getGrammar(name)).roles].flatMap(([mark, { kind }]) => (kind === "call" ? [mark] : []));
    for (const mark of marks)
      for (const [open, close] of thinkingOf(name))
        for (const next of ["", "[", "{", "(", "x"]) {
          const pieces = [`${open}Hm.${close}a ${mark}`, `${next}${open}Hm.${close}end`];
          expect([pieces, readPieces(format, pieces).reply]).toEqual([pieces, readPieces(format, [pieces.join("")]).reply]);
        }
  });

  test("F1.41 after a whole call or thought, markers that surround calls are removed from the text", () => {
    const { before = [], after = [], droppedMarks = [] } = getGrammar(name);
    for (const mark of [...before, ...after, ...droppedMarks]) {
      expect([mark, readText(format, `${written}\nSo ${mark} it is.`).slice(0, 2)]).toEqual([
        mark,
        [AS_READ, readText(format, `${written}\nSo  it is.`)[1]],
      ]);
      for (const [open, close] of thinkingOf(name).slice(0, 1))
        expect([mark, readText(format, `${open}Hm.${close}So ${mark} it is.`)[1]]).toEqual([mark, "So  it is."]);
    }
  });

  test("F1.37 a call with a duplicate argument keeps both as JSON text, and a warning names the argument", () => {
    const twice = format.writeCalls([{ name: "bash", input: { command: "first", commanD: "other" } }]).replaceAll("commanD", "command");
    const { reply, warnings } = readPieces(format, [`${twice}\n`]);
    const [{ name: called, input } = { name: "", input: "" }] = reply.calls;
    expect([reply.calls.length, called, reply.text.trim()]).toEqual([1, "bash", ""]);
    expect(String(input).replaceAll(" ", "")).toBe('{"command":"first","command":"other"}');
    expect([warnings, reply.warnings]).toEqual([[WARNING], [WARNING]]);
  });

  test("H02 no result hides a call behind a thinking marker", () => {
    for (const [open, close] of thinkingOf(name)) {
      const answer = format.writeResults([
        { name: "read", text: JSON.stringify([`${open}x`, { name: "bash", arguments: { command: "ls" } }, close]) },
      ]);
      expect(answer).not.toContain(open);
      expect(readText(format, answer, { unknownTools: "call" })[0]).toEqual([]);
    }
  });

  test("F1.37 argument names in any script round-trip", () => {
    const keys = ["größe", "名前", "नाम", "x_1", "شهر"];
    const tools = [tool("find", Object.fromEntries(keys.map((key) => [key, { type: "string" }])))];
    const input = Object.fromEntries(keys.map((key) => [key, `v-${key}`]));
    expect(readText(format, format.writeCalls([{ name: "find", input }]), { tools })).toEqual([[["find", input]], "", ""]);
  });

  test("F0.3 a bare name resolves to the only tool of that name; an ambiguous one is passed to the runtime as it is", () => {
    const write = (called: string): string => format.writeCalls([{ name: called, input: { path: "a" } }]);
    const tools = [
      tool("files::read", { path: { type: "string" } }),
      tool("a::cut", { path: { type: "string" } }),
      tool("b::cut", { path: { type: "string" } }),
    ];
    expect(readText(format, write("read"), { tools })[0]).toEqual([["files::read", { path: "a" }]]);
    expect(readText(format, write("cut"), { tools })[0]).toEqual([["cut", { path: "a" }]]);
  });
});

const WARNING = 'The call of "bash" has "command" twice in one object.';
