/** Built-in toolsets for an agent: notes, skills, questions to the user, and search in earlier messages. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, resultText } from "haft";
import { askToolset, memoryToolset, scratchpadToolset, skillsToolset } from "haft/toolsets";

const folder = await mkdtemp(join(tmpdir(), "haft-"));
await mkdir(join(folder, "release"));
await writeFile(join(folder, "release", "SKILL.md"), "---\ndescription: Releases a version.\n---\nRun the tests first.");

const runtime = createRuntime({
  toolsets: [scratchpadToolset(), skillsToolset({ folder }), askToolset(), memoryToolset()],
  ask: ({ message }) => {
    console.log(`asked: ${message}`);
    return { action: "accept", content: { answer: "2.0.0" } };
  },
});
await runtime.open();
const session = runtime.session("work");
const calls = [
  { name: "skill", input: { name: "release" } },
  { name: "ask_user", input: { question: "Which version?" } },
  { name: "scratchpad", input: { action: "set", key: "version", value: "2.0.0" } },
  { name: "scratchpad", input: { action: "get", key: "version" } },
  { name: "skill", input: { name: "relaese" } },
];
for (const result of await session.execute(calls)) console.log(resultText(result));
const { output } = await session.execute({ name: "search_memory", input: { query: "tests", k: 1 } });
console.log(String(output).replace(/^\[\S+/u, "[…"));
await runtime.close();
await rm(folder, { recursive: true });

/* Prints:
asked: Which version?
---
description: Releases a version.
---
Run the tests first.
2.0.0
Set "version".
2.0.0
Error (not_found): There is no skill "relaese". Did you mean "release"?
Hint: Known skills: release.
[… skill, session work] {"name":"release"} → ---
description: Releases a version.
---
Run the tests first.
*/
