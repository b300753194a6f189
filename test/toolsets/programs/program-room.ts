/** A workspace with secrets around it, and a runtime that runs programs there. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EventListener } from "../../../src/core/event.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { pythonToolset, shellToolset, type ShellOptions } from "../../../src/toolsets/shell.ts";

const probe = spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true"]);

/** Said in the titles of tests that are skipped. */
export const SANDBOX = probe.status === 0 ? "" : " (skipped: bubblewrap is not installed or may not make namespaces here)";
export const HAS_SANDBOX = probe.status === 0;
export const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;

/** Files by their paths; removed after the test. */
export function folderWith(files: Readonly<Record<string, string>> = {}, above = tmpdir()): string {
  const root = realpathSync(mkdtempSync(join(above, "haft-programs-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

export async function openedRuntime(
  options: ShellOptions,
  more: { readonly python?: boolean; readonly onEvent?: EventListener } = {},
): Promise<Runtime> {
  const toolsets = [shellToolset(options), ...(more.python === true && HAS_PYTHON ? [pythonToolset(omitShell(options))] : [])];
  const runtime = createRuntime({ toolsets, approval: { never: ["*"] }, ...(more.onEvent === undefined ? {} : { onEvent: more.onEvent }) });
  onTestFinished(async () => void (await runtime.close()));
  const { failed } = await runtime.open();
  if (failed.length > 0) throw new Error(failed.map(({ error }) => error.message).join("\n"));
  return runtime;
}

function omitShell({ shell: _shell, ...options }: ShellOptions) {
  return options;
}

export async function bash(runtime: Runtime, command: string, timeout?: number): Promise<ToolResult> {
  return await runtime.execute({ name: "shell::bash", input: { command, ...(timeout === undefined ? {} : { timeout }) } });
}

/** Whether any process has this text in its command line. */
export function isRunning(text: string): boolean {
  return spawnSync("ps", ["-axww", "-o", "args="], { encoding: "utf8" })
    .stdout.split("\n")
    .some((line) => line.includes(text) && !line.startsWith("ps "));
}
