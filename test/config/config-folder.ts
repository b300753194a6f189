/** A folder of its own for one test, removed behind it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/load-config.ts";

/** @param files texts by relative path */
export function configFolder(files: Readonly<Record<string, string | Buffer>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-config-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Writes and loads one file. */
export async function load(name: string, text: string | Buffer, environment: Readonly<Record<string, string>> = {}): Promise<LoadedConfig> {
  return await loadConfig(join(configFolder({ [name]: text }), name), { environment });
}

/** All problems of a file, without the folder before its name. */
export async function problemsOf(
  name: string,
  text: string | Buffer,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const folder = configFolder({ [name]: text });
  const error = await configError(loadConfig(join(folder, name), { environment }));
  const lines = error.details.length === 0 ? [error.message] : error.details;
  return lines.map((line) => line.replace(`${folder}/`, ""));
}

/** The `invalid_config` error that a promise rejects with. */
export async function configError(promise: Promise<unknown>): Promise<ToolError> {
  try {
    await promise;
  } catch (error: unknown) {
    if (error instanceof ToolError && error.code === "invalid_config") return error;
    throw error;
  }
  throw new Error("it did not reject");
}
