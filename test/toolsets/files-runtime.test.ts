import { symlinkSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import { resultText } from "../../src/core/result.ts";
import { programToolset } from "../../src/compose/program/program-toolset.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { notebookToolset } from "../../src/toolsets/notebook.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";

function sessionOver(workspace: TemporaryWorkspace): RuntimeSession {
  const runtime = createRuntime({ toolsets: [filesToolset({ root: workspace.root })] });
  onTestFinished(async () => void (await runtime.close()));
  return runtime.session();
}

const edit = (path: string, old: string): ToolCall => ({ name: "files::edit", input: { path, old, new: `<${old}>` } });

test("F1.33 five edits of one file in one message, and two more through a link, are all applied", async () => {
  const workspace = new TemporaryWorkspace({ "a.txt": "1 2 3 4 5 6 7" });
  symlinkSync("a.txt", workspace.path("link"));
  const session = sessionOver(workspace);
  await session.execute({ name: "files::read", input: { path: "a.txt" } });
  const results = await session.execute(
    ["1", "2", "3", "4", "5"].map((digit) => edit("a.txt", digit)).concat(edit("link", "6"), edit("link", "7")),
  );
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => "ok"));
  expect(workspace.text("a.txt")).toBe("<1> <2> <3> <4> <5> <6> <7>");
});

test("an error result reads as a sentence with a hint", async () => {
  const workspace = new TemporaryWorkspace({ "a.txt": "1" });
  const session = sessionOver(workspace);
  await session.execute({ name: "files::list" });
  const result = await session.execute(edit("a.txt", "1"));
  expect([result.status, result.attempts, resultText(result)]).toEqual([
    "error",
    1,
    'Error (execution_failed): "a.txt" exists and was not read in this session.\nHint: Read it first, then make the change.',
  ]);
});

test("calls that share no session are told so instead of being sent to read the file again", async () => {
  const workspace = new TemporaryWorkspace({ "a.txt": "1" });
  const runtime = createRuntime({ toolsets: [filesToolset({ root: workspace.root })] });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.execute({ name: "files::read", input: { path: "a.txt" } });
  expect((await runtime.execute(edit("a.txt", "1"))).error?.hint).toBe(
    "Read it first, then make the change. If you have read it, your calls share no session, and this tool cannot change existing files.",
  );
});

test("a program gets the text of the files and notebooks that it reads, also if the model was shown it before", async () => {
  const notebook = { cells: [{ cell_type: "markdown", source: "# A", metadata: {} }], metadata: {}, nbformat: 4, nbformat_minor: 5 };
  const workspace = new TemporaryWorkspace({ "a.txt": "one\ttab\r\ntwo\n", "n.ipynb": JSON.stringify(notebook) });
  const toolsets = [
    filesToolset({ root: workspace.root, unchangedReads: true }),
    notebookToolset({ root: workspace.root }),
    programToolset({ mode: "only" }),
  ];
  const runtime = createRuntime({ toolsets });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  const session = runtime.session();
  const read: ToolCall = { name: "files::read", input: { path: "a.txt" } };
  await session.execute(read);
  expect(resultText(await session.execute(read))).toBe("(a.txt is unchanged since you read this part of it; see the earlier result)");
  const code = `const file = await tools.files.read({ path: "a.txt" });
    const part = await tools.files.read({ path: "a.txt", offset: 2 });
    return [file.text, part.text, (await tools.notebook.notebook_read({ path: "n.ipynb" })).text];`;
  const { output } = await session.execute({ name: "program::run_program", input: { code } });
  expect(output).toEqual({ returned: ["one\ttab\ntwo", "two", "[0] markdown\n# A"] });
});

test("every tool's schema is usable, and the example inputs succeed", async () => {
  const workspace = new TemporaryWorkspace({ "a.json": '{"a":[1]}', "a.txt": "one" });
  const session = sessionOver(workspace);
  const calls: readonly ToolCall[] = [
    { name: "files::read", input: { path: "a.txt", offset: 1, limit: 5 } },
    { name: "files::list", input: {} },
    { name: "files::glob", input: { pattern: "**/*.txt", limit: 5 } },
    { name: "files::grep", input: { pattern: "o", glob: "*.txt", context: 1 } },
    { name: "files::json_read", input: { path: "a.json", at: "a[0]" } },
    { name: "files::json_write", input: { path: "a.json", at: "b.c", value: [true] } },
    { name: "files::multi_edit", input: { path: "a.txt", edits: [{ old: "one", new: "two", replaceAll: false }], mode: "partial" } },
    { name: "files::write", input: { path: "new/b.txt", content: "x" } },
  ];
  const results = [];
  for (const call of calls) results.push(resultText(await session.execute(call)));
  expect(results).toEqual([
    "     1\tone",
    "a.json\na.txt",
    "a.txt",
    "a.txt:1: one",
    "1",
    "Updated a.json.",
    "Updated a.txt: 1 of 1 edit applied.\nedit 1 applied: 1 replacement, the first at line 1",
    "Created new/b.txt (1 byte).",
  ]);
  expect([workspace.text("a.json"), workspace.text("a.txt")]).toEqual(['{"a":[1],"b":{"c":[true]}}', "two"]);
});
