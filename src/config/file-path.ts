/** Resolves file paths in a configuration, and refuses relative ones that leave its folder. */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { ToolError } from "../core/error.ts";

/**
 * Returns the absolute path. A relative path must stay inside `folder`, even after links are followed; an absolute path is returned unchanged.
 *
 * @throws ToolError `invalid_config`, whose message continues "key: …"
 */
export function filePath(path: string, folder: string): string {
  if (/^[a-z][a-z0-9+.-]+:/iu.test(path)) throw refused(`must be the path of a file, not the address ${JSON.stringify(path)}.`);
  if (isAbsolute(path)) return path;
  const file = resolve(folder, path);
  const real = realPath(file);
  if (isOutside(folder, file) || (real !== undefined && isOutside(realPath(folder) ?? folder, real))) {
    throw refused(
      `must lie inside the folder of this file, and ${JSON.stringify(path)} does not; to use it anyway, write an absolute path.`,
    );
  }
  return file;
}

/** Whether an absolute path leads out of the folder, with links followed as far as the path exists. */
export function liesOutside(folder: string, path: string): boolean {
  return isOutside(realPath(folder) ?? folder, nearestRealPath(path));
}

/** Returns the real path of the existing part, joined with the names that do not exist yet. */
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

/** Undefined for a file that does not exist: it has no links to follow. */
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
