/** Tools for the files of one folder: they reach nothing outside it, change no file that was not read, and lose no edit. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, resultText } from "haft";
import { filesToolset } from "haft/files";

const root = await mkdtemp(join(tmpdir(), "haft-"));
await writeFile(join(root, "list.md"), "- milk\n- bread\n- rice\n");

const runtime = createRuntime({ toolsets: [filesToolset({ root })] });
const session = runtime.session();
const tick = (item: string) => ({ name: "files::edit", input: { path: "list.md", old: `- ${item}`, new: `- [x] ${item}` } });

const unread = await session.execute(tick("milk"));
console.log(resultText(unread));
console.log(resultText(await session.execute({ name: "files::read", input: { path: "list.md" } })));

const edits = await session.execute(["milk", "bread", "rice"].map(tick));
for (const edit of edits) console.log(resultText(edit));

const outside = await session.execute({ name: "files::read", input: { path: "../../etc/hostname" } });
console.log(outside.error?.code);

assert.equal(await readFile(join(root, "list.md"), "utf8"), "- [x] milk\n- [x] bread\n- [x] rice\n");
assert.deepEqual([unread.status, outside.error?.code], ["error", "permission_denied"]);
await runtime.close();
await rm(root, { recursive: true });

/* Prints:
Error (execution_failed): "list.md" exists and was not read in this session.
Hint: Read it first, then make the change. If you have read it, your calls share no session, and this tool cannot change existing files.
     1	- milk
     2	- bread
     3	- rice
Updated list.md: 1 replacement, the first at line 1.
Updated list.md: 1 replacement, the first at line 2.
Updated list.md: 1 replacement, the first at line 3.
permission_denied
*/
