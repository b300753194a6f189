/**
 * A process that adds lines to a file by the tools for files: `node edit-process.ts <workspace> <file of the store, or ""> <name> <lines>`. It says
 * "ready", waits for a line on standard input, and at the end prints the messages of the edits that were refused.
 */
import { once } from "node:events";
import { createRuntime } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { filesToolset } from "../../src/toolsets/files.ts";

const [root = "", database = "", name = "", lines = "1"] = process.argv.slice(2);
const runtime = createRuntime({
  toolsets: [filesToolset({ root })],
  ...(database === "" ? {} : { store: sqliteStore({ path: database }) }),
});
await runtime.open();
const session = runtime.session();
process.stdout.write("ready\n");
await once(process.stdin, "data");
const refused = new Set<string | undefined>();
for (let line = 1; line <= Number(lines);) {
  await session.execute({ name: "files::read", input: { path: "a.txt" } });
  const edit = { path: "a.txt", old: "end\n", new: `${name}${line}\nend\n` };
  const { status, error } = await session.execute({ name: "files::edit", input: edit });
  if (status === "ok") line++;
  else refused.add(error?.message);
}
await runtime.close();
process.stdout.write(`${JSON.stringify([...refused])}\n`);
process.exit();
