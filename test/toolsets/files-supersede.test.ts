import { describe, expect, test } from "vitest";
import { copyJson, type JsonObject } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { resultText } from "../../src/core/result.ts";
import type { PastCall, Tool } from "../../src/core/tool.ts";
import { pairMessages } from "../../src/history/pair-messages.ts";
import { trimResults } from "../../src/history/trim-results.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";

const TWENTY_LINES = "line\n".repeat(20);
const LONG = `${"x".repeat(999)}\n`.repeat(300);
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const FILES = { "a.txt": TWENTY_LINES, "b.txt": "b\n", "long.txt": LONG, "a.png": PNG, "a.json": '{"n":1}', "src/c.ts": "c\n" };

type Request = readonly [tool: string, input: JsonObject];

/** Makes both calls on real files, the older first, and asks the newer one's tool. */
async function replaces(newer: Request, older: Request, workspace = new TemporaryWorkspace(FILES)): Promise<boolean> {
  const first = await made(workspace, older);
  const second = await made(workspace, newer);
  return workspace.tool(second.name).supersedes?.(second, first) ?? false;
}

async function made(workspace: TemporaryWorkspace, [name, input]: Request): Promise<PastCall> {
  const changes = /write|edit/u.test(name);
  if (changes) await workspace.call("read", { path: input["path"] }).catch(() => "it does not exist yet");
  const { output } = await workspace.call(name, input);
  return { name, input, output: copyJson(output).value };
}

const path = "a.txt";
const read: Request = ["read", { path }];
const readPart = (offset: number, limit: number): Request => ["read", { path, offset, limit }];
const write: Request = ["write", { path, content: TWENTY_LINES }];
const edit: Request = ["edit", { path, old: TWENTY_LINES, new: TWENTY_LINES.toUpperCase() }];
const multiEdit: Request = ["multi_edit", { path, edits: [{ old: TWENTY_LINES, new: TWENTY_LINES.toUpperCase() }] }];

describe("F4.38 reads and writes of one file", () => {
  test.each<[string, Request, Request]>([
    ["a read replaces a read", read, read],
    ["a read replaces a read of a part", read, readPart(5, 2)],
    ["a read replaces a write", read, write],
    ["a read replaces an edit", read, edit],
    ["a write replaces a read", write, read],
    ["a write replaces a read of a part", write, readPart(5, 2)],
    ["a write replaces a write", write, write],
    ["a write replaces an edit", write, multiEdit],
    ["a read of a part replaces the same part", readPart(5, 3), readPart(5, 3)],
    ["a read of a part replaces a smaller part in it", readPart(5, 5), readPart(6, 2)],
    ["a read up to the end replaces what ended there", ["read", { path, offset: 5 }], readPart(6, 100)],
    ["two parts that are the whole file are the same", readPart(1, 20), read],
    ["an image read again replaces the first", ["read", { path: "a.png" }], ["read", { path: "a.png" }]],
    ["another spelling of the path is the same file", ["read", { path: "src/../a.txt" }], ["read", { path: "./a.txt" }]],
  ])("F4.38 %s", async (_what, newer, older) => {
    expect(await replaces(newer, older)).toBe(true);
  });

  test.each<[string, Request, Request]>([
    ["a read of another file replaces nothing", ["read", { path: "b.txt" }], read],
    ["a read of a part does not replace the whole", readPart(1, 19), read],
    ["a read of a part does not replace one that began earlier", readPart(6, 10), readPart(5, 3)],
    ["a read of a part does not replace one that went on further", readPart(5, 3), readPart(5, 4)],
    ["a read of a part does not replace a write", readPart(5, 3), write],
    ["a read of a part does not replace an edit", readPart(5, 3), edit],
    [
      "a long read that stopped early does not replace a part beyond",
      ["read", { path: "long.txt" }],
      ["read", { path: "long.txt", offset: 290 }],
    ],
    [
      "a long read that stopped early does not replace a write",
      ["read", { path: "long.txt" }],
      ["write", { path: "long.txt", content: LONG }],
    ],
    ["an edit answers without the content and replaces nothing", edit, read],
    ["several edits replace nothing", multiEdit, read],
  ])("F4.38 %s", async (_what, newer, older) => {
    expect(await replaces(newer, older)).toBe(false);
  });

  test.each(["edit", "multi_edit"])("F4.38 %s would replace an earlier read if its output had the content", (name) => {
    const newer = { name, input: { path }, output: { path, content: TWENTY_LINES } };
    const older = { name: "read", input: { path }, output: { path, firstLine: 1, lastLine: 20, totalLines: 20 } };
    expect(new TemporaryWorkspace().tool(name).supersedes?.(newer, older)).toBe(true);
  });

  test("F4.38 a read that only reports an unchanged file replaces nothing, not even the read it refers to", async () => {
    const workspace = new TemporaryWorkspace(FILES, { unchangedReads: true });
    expect(await replaces(read, read, workspace)).toBe(false);
  });

  test("F4.38 a part of a file that has grown replaces an earlier read of the same part", async () => {
    const workspace = new TemporaryWorkspace(FILES);
    const older = await made(workspace, readPart(15, 6));
    workspace.put(path, TWENTY_LINES.repeat(2));
    const newer = await made(workspace, readPart(15, 6));
    expect([older.output, newer.output]).toMatchObject([
      { path, firstLine: 15, lastLine: 20, totalLines: 20 },
      { path, firstLine: 15, lastLine: 20, totalLines: 40 },
    ]);
    expect(workspace.tool("read").supersedes?.(newer, older)).toBe(true);
  });
});

describe("F4.38 values of a JSON file", () => {
  const at = (place: string): Request => ["json_read", { path: "a.json", at: place }];
  const set = (place: string): Request => ["json_write", { path: "a.json", at: place, value: { n: 2 } }];

  test.each<[string, Request, Request, boolean]>([
    ["a value read again replaces the first", at("n"), at("n"), true],
    ["the whole is read with or without an empty place", ["json_read", { path: "a.json" }], at(""), true],
    ["another value replaces nothing", at(""), at("n"), false],
    ["a value does not replace the text", at(""), ["read", { path: "a.json" }], false],
    ["the text, whose long lines are cut, does not replace a value", ["read", { path: "a.json" }], at("n"), false],
    ["a written document replaces values", set(""), at("n"), true],
    ["a written document replaces the text", set("$"), ["read", { path: "a.json" }], true],
    ["a written file replaces values", ["write", { path: "a.json", content: "{}" }], at("n"), true],
    ["a value that was set replaces nothing", set("n"), at("n"), false],
    ["the text replaces a value that was set", ["read", { path: "a.json" }], set("n"), true],
  ])("F4.38 %s", async (_what, newer, older, expected) => {
    expect(await replaces(newer, older)).toBe(expected);
  });
});

describe("F4.38 listings and searches", () => {
  const list = (input: JsonObject): Request => ["list", input];
  const glob = (input: JsonObject): Request => ["glob", input];

  test.each<[string, Request, Request, boolean]>([
    ["a listing replaces the same", list({}), list({ path: "." }), true],
    ["a deeper listing replaces a shallower one", list({ depth: 2 }), list({ depth: 1 }), true],
    ["a shallower listing does not replace a deeper one", list({}), list({ depth: 2 }), false],
    ["a listing of another folder replaces nothing", list({ path: "src", depth: 9 }), list({}), false],
    ["a listing of the folder above replaces nothing", list({ depth: 9 }), list({ path: "src" }), false],
    ["a glob replaces the same", glob({ pattern: "*.txt" }), glob({ pattern: "*.txt" }), true],
    ["a glob without a filter replaces one with", glob({ pattern: "**/*" }), glob({ pattern: "*.txt" }), true],
    ["a glob with a filter does not replace one without", glob({ pattern: "*.txt" }), glob({ pattern: "**" }), false],
    ["a glob with another filter replaces nothing", glob({ pattern: "*.ts" }), glob({ pattern: "*.txt" }), false],
    [
      "a glob that found more than it shows does not replace one with more room",
      glob({ pattern: "*.txt", limit: 1 }),
      glob({ pattern: "*.txt" }),
      false,
    ],
    ["a glob without a filter that found more than it shows", glob({ pattern: "**", limit: 1 }), glob({ pattern: "*.txt" }), false],
    ["a glob that shows all it found replaces one with more room", glob({ pattern: "*.txt", limit: 50 }), glob({ pattern: "*.txt" }), true],
    [
      "a glob with as much room replaces one that was cut",
      glob({ pattern: "*.txt", limit: 1 }),
      glob({ pattern: "*.txt", limit: 1 }),
      true,
    ],
    ["a glob does not replace a listing", glob({ pattern: "**" }), list({}), false],
    ["a listing does not replace a glob", list({ depth: 9 }), glob({ pattern: "*" }), false],
    ["the same search replaces the first", ["grep", { pattern: "l" }], ["grep", { pattern: "l" }], true],
    ["another search replaces nothing", ["grep", { pattern: "l" }], ["grep", { pattern: "l", path: "src" }], false],
  ])("F4.38 %s", async (_what, newer, older, expected) => {
    expect(await replaces(newer, older)).toBe(expected);
  });
});

test("F4.38 a call with an unusable input replaces nothing", () => {
  const workspace = new TemporaryWorkspace();
  const odd: readonly PastCall[] = [
    { name: "read", input: { path: 5 }, output: "text" },
    { name: "read", input: {}, output: { path, firstLine: "1", lastLine: null } },
    { name: "read", input: { path }, output: undefined },
    { name: "edit", input: { path }, output: [] },
    { name: "list", input: { path: null }, output: null },
    { name: "list", input: { depth: "9" }, output: null },
    { name: "glob", input: { pattern: "*", limit: "9" }, output: null },
    { name: "grep", input: { pattern: "a" }, output: 1 },
  ];
  const asked = odd.flatMap((newer) => odd.map((older) => [newer, older, workspace.tool(newer.name).supersedes?.(newer, older)] as const));
  expect(asked.filter(([, , answer]) => answer === true)).toEqual([[odd[7], odd[7], true]]);
});

test("F4.36 F4.37 trimming a session that reads, writes and reads again leaves the current results only", async () => {
  const workspace = new TemporaryWorkspace(FILES);
  const toolset = filesToolset({ root: workspace.root });
  const runtime = createRuntime({ toolsets: [toolset] });
  const session = runtime.session();
  const batches: readonly (readonly Request[])[] = [
    [read, ["list", {}]],
    [["write", { path, content: "new\n" }]],
    [
      ["read", { path }],
      ["list", { depth: 2 }],
    ],
    [["read", { path: "none.txt" }]],
    [["edit", { path, old: "new", new: "newer" }]],
  ];
  for (const batch of batches) await session.execute(batch.map(([name, input]) => ({ name: `files::${name}`, input })));
  const tools = new Map((toolset.tools ?? []).map((tool): [string, Tool] => [`files::${tool.name}`, tool]));
  const { history } = session;
  const calls = history.map(({ callId, turnId, call }): ModelMessage => ({ role: "call", at: 0, callId, turnId, call }));
  const results = history.flatMap(({ callId, result }): readonly ModelMessage[] =>
    result === undefined ? [] : [{ role: "result", at: 0, callId, result }],
  );
  const trimmed = trimResults(pairMessages([...calls, ...results]), { budgetBytes: 0, toolOf: (name) => tools.get(name) });
  await runtime.close();
  expect(trimmed.flatMap((entry) => (entry.role === "result" ? [resultText(entry.result)] : []))).toEqual([
    "     1\tnew",
    "a.json\na.png\na.txt\nb.txt\nlong.txt\nsrc/\nsrc/c.ts",
    expect.stringMatching(/"none.txt": it does not exist/u),
    "Updated a.txt: 1 replacement, the first at line 1.",
  ]);
});
