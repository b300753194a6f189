import { describe, expect, test, vi } from "vitest";
import { inCI } from "../../ci.ts";
import { TEXT_FORMATS, textFormat } from "../../../src/wire/text/formats.ts";
import { readPieces, readText } from "./reading.ts";

const MEGABYTE = 1_000_000;
const CHARS = inCI ? MEGABYTE / 2 : MEGABYTE / 16;
const OPENERS = [
  "<tool_call>",
  "[TOOL_CALLS]",
  "Action:",
  "\nAction: bash\nAction",
  "[/bash]\n@@",
  '<write path="',
  "{hello world[A(A=\t)A(A=,\t",
  '\n{"name":',
  "<｜tool▁call▁begin｜>",
  "function<｜tool▁sep｜>",
  "<|start|>assistant<|channel|>commentary to=functions.bash<|message|>",
  "[/write]\n@@path=",
  "[{",
  ']<]minimax[>[<invoke name="bash">]<]minimax[>[<a>',
  "<|python_tag|>[a(",
  "[/bash]\n\n",
  "<function=bash>\n<parameter=command>\n",
  "<function=bash>\n<parameter=command>\n<![CDATA[x]]> ",
];

describe("A19 a megabyte of opening markers (a quarter of it outside CI)", () => {
  test.each([
    "auto",
    "bracket",
    "xml",
    "json",
    "react",
    "hermes",
    "qwen3-coder",
    "mistral",
    "deepseek",
    "llama-3",
    "pythonic",
    "harmony",
    "kimi-k2",
    "minimax-m3",
    "command-r-plus",
  ])("A19 %s: there is no call, and the text is unchanged", (name) => {
    for (const opener of OPENERS) {
      const text = opener.repeat(Math.ceil(CHARS / opener.length));
      const [calls, said] = readText(textFormat(name), text);
      expect([calls, said === text]).toEqual([[], true]);
    }
  });

  test("A19 thinking that is opened and closed many times is read in one pass", () => {
    const opener = "<think>x<|tool_calls_section_begin|>◁think▷";
    for (const name of ["auto", "kimi-k2"])
      for (const thinking of ["split", "begun", "keep"] as const)
        expect(readText(textFormat(name), opener.repeat(CHARS / opener.length), { thinking })[0]).toEqual([]);
  });

  test("A19 brackets nested a hundred thousand deep stay text", () => {
    const deep = "[".repeat(100_000);
    for (const text of [
      `<tool_call>{"name":"bash","arguments":${deep}`,
      `<tool_call>{"name":"bash","arguments":{"a":${deep}${"]".repeat(100_000)}}}</tool_call>`,
    ])
      expect(readText(textFormat("hermes"), text)).toEqual([[], text, ""]);
    const python = `<|tool_call_start|>[bash(command=${deep}${"]".repeat(100_000)})]<|tool_call_end|>`;
    expect(readText(textFormat("lfm2"), python)).toEqual([[], python, ""]);
  });

  test("A19 calls beyond the limit of a message stay text", () => {
    const call = '<tool_call>{"name":"bash","arguments":{}}</tool_call>';
    const { reply } = readPieces(textFormat("hermes"), [call.repeat(1_025)]);
    expect([reply.calls.length, reply.text]).toEqual([1_024, call]);
  });

  test("A19 a message longer than maxChars throws", () => {
    expect(() => readPieces(textFormat("hermes"), ["12345", "6"], { maxChars: 5 })).toThrow(/more characters/u);
  });
});

describe("A20 no code is evaluated", () => {
  const CODE = ['__import__("os").system("id")', "process.exit(1)", "${7*7}", "{{7*7}}"];

  test("A20 code as a value stays a string, and as a Python argument makes no call", () => {
    const trap = vi.spyOn(globalThis, "Function");
    for (const code of CODE) {
      expect(readText(textFormat("qwen3-coder"), `<function=bash><parameter=command>${code}</parameter></function>`)[0]).toEqual([
        ["bash", { command: code }],
      ]);
      expect(readText(textFormat("pythonic"), `[bash(command=${code})]`)[0]).toEqual([]);
      expect(readText(textFormat("lfm2"), `<|tool_call_start|>[bash(command=${code})]<|tool_call_end|>`)[0]).toEqual([]);
    }
    expect(trap).not.toHaveBeenCalled();
    trap.mockRestore();
  });

  test("A20 __proto__ is an ordinary key", () => {
    const [calls] = readText(textFormat("hermes"), '<tool_call>{"name":"bash","arguments":{"__proto__":{"polluted":1}}}</tool_call>');
    expect(JSON.stringify(calls)).toBe('[["bash",{"__proto__":{"polluted":1}}]]');
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("A21 text that only resembles a call", () => {
  const JSON_CALL = '{"name": "bash", "arguments": {"command": "ls"}}';

  test.each([...TEXT_FORMATS.keys()].filter((name) => !["xlam", "hermes-loose"].includes(name)))(
    "A21 %s: JSON in prose, code and quotes stays text",
    (name) => {
      for (const text of [
        `An example:\n\`\`\`json\n${JSON_CALL}\n\`\`\`\nthat is all.`,
        `Say \`${JSON_CALL}\` to it.`,
        `It said "${JSON_CALL}".`,
      ])
        expect(readText(textFormat(name), text)).toEqual([[], text, ""]);
    },
  );

  test.each(["bracket", "xml", "json", "react"])("A21 %s: a call in a tilde fence or an indented block stays text", (name) => {
    const call = textFormat(name).writeCalls([{ name: "bash", input: { command: "ls" } }]);
    const indented = call.replaceAll(/^/gmu, "    ");
    for (const text of [`So:\n~~~text\n${call}\n~~~\nYes.`, `So:\n\n${indented}\n\nYes.`, `So:\n\n\tx\n${indented}`])
      expect(readText(textFormat(name), text)).toEqual([[], text, ""]);
    expect(readText(textFormat(name), `~~~\nx\n~~~\n${call}`)[0]).toEqual([["bash", { command: "ls" }]]);
  });

  test("A21 a call inside thinking stays thinking", () => {
    const call = `<tool_call>${JSON_CALL}</tool_call>`;
    expect(readText(textFormat("hermes"), `<think>I might ${call}</think>No.`)).toEqual([[], "No.", `I might ${call}`]);
    expect(readText(textFormat("hermes"), `I might ${call}</think>`, { thinking: "begun" })).toEqual([[], "", `I might ${call}`]);
  });

  test("A21 the format's own markers make a call inside code too", () => {
    expect(readText(textFormat("hermes"), `\`\`\`\n<tool_call>${JSON_CALL}</tool_call>\n\`\`\``)[0]).toEqual([["bash", { command: "ls" }]]);
  });

  test("F1.40 markers without a call stay text, and the call after them is read", () => {
    const call = `<tool_call>${JSON_CALL}</tool_call>`;
    expect(readText(textFormat("hermes"), `A <tool_call> is ${call}.`)).toEqual([[["bash", { command: "ls" }]], "A <tool_call> is .", ""]);
    expect(readText(textFormat("kimi-k2"), "<|tool_calls_section_begin|> nothing <|tool_calls_section_end|>")).toEqual([
      [],
      "<|tool_calls_section_begin|> nothing <|tool_calls_section_end|>",
      "",
    ]);
  });
});
