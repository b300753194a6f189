/** Says which file a path in a configuration means, and refuses those that only look as if they stayed at home. */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { ToolError } from "../core/error.ts";

/**
 * The absolute path. One that is relative stays inside `folder`, also once links are followed; one that is absolute is used
 * unchanged.
 *
 * @throws ToolError `invalid_config`, as the rest of "key: …"
 */
export function filePath(path: string, folder: string): string {
  if (/^[a-z][a-z0-9+.-]+:/iu.test(path)) throw refused(`must be the path of a file, not the address ${JSON.stringify(path)}.`);
  if (isAbsolute(path)) return path;
  const file = resolve(folder, path);
  const real = realPath(file);
  if (isOutside(folder, file) || (real !== undefined && isOutside(realPath(folder) ?? folder, real))) {
    throw refused(`must lie inside the folder of this file, and ${JSON.stringify(path)} does not; write an absolute path to mean it.`);
  }
  return file;
}

/** Whether an absolute path leads out of the folder, links followed as far as there is something. */
export function liesOutside(folder: string, path: string): boolean {
  return isOutside(realPath(folder) ?? folder, nearestRealPath(path));
}

/** The real path of what is there, and below it what is not there yet. */
function nearestRealPath(path: string): string {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const real = realPath(at);
    if (real !== undefined) return join(real, ...missing);
    if (dirname(at) === at) return path;
    missing.unshift(basename(at));
  }
}

function isOutside(folder: string, file: string): boolean {
  const inside = relative(folder, file);
  return inside === ".." || inside.startsWith("../") || inside.startsWith("..\\") || isAbsolute(inside);
}

/** Undefined for a file that is not there: it has no links to follow. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function refused(problem: string): ToolError {
  return new ToolError("invalid_config", problem);
}
