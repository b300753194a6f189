import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { textFormat } from "../../../src/wire/text/formats.ts";
import { readPieces, readText } from "./reading.ts";

const LIST = { name: "bash", input: { command: "ls" } };
const READ = { name: "read", input: { path: "a" } };

/** Formats whose calls end thinking that nothing closes, and how their thinking begins. */
const FORMATS: readonly (readonly [format: string, open: string])[] = [
  ...[
    "hermes",
    "hermes-loose",
    "qwen3-coder",
    "glm",
    "ernie",
    "deepseek",
    "deepseek-v3.1",
    "deepseek-dsml",
    "kimi-k2",
    "minimax-m2",
    "auto",
  ].map((name) => [name, "<think>"] as const),
  ["seed-oss", "<seed:think>"],
  ["gemma-4", "<|channel>thought\n"],
  ["kimi-k3", "<|open|>think<|sep|>"],
];

describe.each(FORMATS)("unclosed thinking in %s", (name, open) => {
  const format = textFormat(name);
  const call = format.writeCalls([LIST]);

  test.each([
    ["words", `I could ${call} but that deletes everything, so I stop.`],
    ["words on the next line", `I could:\n${call}\n\nNo.`],
    ["the end of quoted code", `As \`${call}\`.`],
    ["the end of a code block", `As\n\`\`\`\n${call}\n\`\`\`\n`],
    ["a result that the model makes up", `${call}\n<tool_response>\nok\n</tool_response>`],
    ["words between two calls", `${call} or ${call}, which?`],
  ])("A21 a call before %s stays thinking", (_, thinking) => {
    for (const [text, options] of [
      [open + thinking, {}],
      [thinking, { thinking: "begun" as const }],
    ] as const) {
      expect(readText(format, text, options)).toEqual([[], "", thinking.trim()]);
      expect(readPieces(format, Array.from(text), options).reply.calls).toEqual([]);
    }
    expect(readText(format, open + thinking, { thinking: "keep" })[0]).toEqual([]);
  });

  test("A21 a call in a truncated message stays thinking", () => {
    const { reply } = readPieces(format, [`${open}Hm.${call}`], { ending: { finish: "length" } });
    expect([reply.calls, reply.text, reply.reasoning]).toEqual([[], "", `Hm.${call}`]);
  });

  test("A21 only calls after the last thinking text are made", () => {
    const pieces = fc.array(fc.constantFrom(" Hm. ", " `x` ", "\n", call, format.writeCalls([READ])), { maxLength: 8 });
    fc.assert(
      fc.property(pieces, (parts) => {
        const words = parts.findLastIndex((part) => part.trim() !== "" && part.length < 6);
        const made = parts.slice(words + 1).flatMap((part) => (part.length < 6 ? [] : [part === call ? "bash" : "read"]));
        const { reply } = readPieces(format, [open, ...parts]);
        expect(reply.calls.map((one) => one.name)).toEqual(made);
        expect(reply.text).toBe("");
      }),
    );
  });
});

test("A21 a call after closed thinking of another kind is made", () => {
  const call = textFormat("hermes").writeCalls([LIST]);
  expect(readText(textFormat("auto"), `<think>So ${call}[THINK]or ${call}[/THINK]${call}`)).toEqual([
    [["bash", { command: "ls" }]],
    "",
    `So ${call}[THINK]or ${call}[/THINK]`,
  ]);
});
