/** Runs shell commands as a tool: streams their output, returns exit codes, enforces timeouts and leaves no process behind. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, resultText } from "haft";
import { shellToolset } from "haft/shell";

const root = await mkdtemp(join(tmpdir(), "haft-"));
await writeFile(join(root, "list.md"), "milk\nbread\nrice\n");

// The program writes these commands itself. If a model writes them, leave `sandbox` out: they then run in bubblewrap.
const shell = shellToolset({ root, sandbox: "none" });

const heard = Promise.withResolvers<void>();
const runtime = createRuntime({
  toolsets: [shell],
  approval: { approve: () => "allow-once" },
  onEvent: (event) => {
    if (event.type === "job-output" && event.text.startsWith("building")) heard.resolve();
  },
});
await runtime.open();
const session = runtime.session();
const bash = (command: string, timeout = 60) => ({ name: "shell::bash", input: { command, timeout } });

console.log(resultText(await session.execute(bash("sort list.md | head -n 2"))));

const failed = await session.execute(bash("grep tea list.md; echo 'no tea' >&2; exit 4"));
console.log(failed.exitCode, resultText(failed));

console.log(resultText(await session.execute(bash("echo started; sleep 60; echo done", 0.5))));
console.log(resultText(await session.execute(bash("vim list.md"))));

const job = await session.execute(bash("echo building; sleep 60"), { background: true });
await heard.promise;
runtime.jobs.cancel(job.callId, "no longer needed");
console.log((await runtime.jobs.wait(job.callId)).state, runtime.jobs.read(job.callId, {}).text.trim());

assert.equal(failed.exitCode, 4);
await runtime.close();
await rm(root, { recursive: true });

/* Prints:
bread
milk

4 Error (execution_failed): The command exited with code 4.
no tea

Error (execution_failed): The command was stopped: it took more than 0.5 s.
started

Error (invalid_input): The command "vim list.md" is not run: it needs a terminal, and there is none.
Hint: Read and change files with the file tools, and use commands that print and end.
cancelled building
*/
