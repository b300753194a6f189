/** Packages that are loaded when they are first needed, most of them optional peers: the error where one cannot be. */
import { ToolError, describeThrown, type ToolErrorOptions } from "./error.ts";
import type { ErrorCode } from "./error-codes.ts";

export interface LatePackage {
  readonly name: string;
  /** The rest of the sentence, with the part that uses it: `the HTTP API needs it`. */
  readonly need: string;
  /** @default "unavailable" */
  readonly code?: ErrorCode;
}

/** How Node, Bun, Deno, bundlers and Vite say that a module is not there; the group is what was asked for. */
const NOT_FOUND =
  /(?:cannot find (?:package|module)|could not (?:resolve|find package)|no such module|failed to load url|import)\s+["'`]?(@?[^"'`\s]+)/iu;
/** A folder of this machine is not for the clients of a server. */
const FOLDERS = /(?<=["'`])(?:\w+:|[\\/])[^"'`]*[\\/]node_modules[\\/]|[^\s"'`]*[\\/]node_modules[\\/]/gu;
const MAX_REASON_CHARS = 500;

/**
 * The error for a package whose import failed. It is not installed only where the import itself was not found: one that is there may be
 * damaged, of a version that does not fit, or lack a package of its own.
 */
export function cannotLoad({ name, need, code = "unavailable" }: LatePackage, thrown: unknown, options: ToolErrorOptions = {}): ToolError {
  if (isNotInstalled(name, thrown))
    return new ToolError(code, `The package ${name} is not installed; ${need}.`, {
      ...options,
      operatorHint: `npm install ${name}`,
      cause: thrown,
    });
  return new ToolError(code, `The package ${name} is installed and cannot be loaded: ${reasonOf(describeThrown(thrown))}; ${need}.`, {
    ...options,
    operatorHint: `npm ls ${name} says which version is installed, and whether it fits; npm install ${name} installs it again. In a bundle, mark the package haft as external.`,
    cause: thrown,
  });
}

/** Whether an import failed because the package itself is not there. @param thrown by the import, or its message */
export function isNotInstalled(name: string, thrown: unknown): boolean {
  const asked = NOT_FOUND.exec(describeThrown(thrown))?.[1];
  return asked === name || asked?.startsWith(`${name}/`) === true;
}

function reasonOf(text: string): string {
  const [line = ""] = text.split("\n", 1);
  return line
    .replace(/ imported from .*$/u, "")
    .replaceAll(FOLDERS, "")
    .replace(/\.$/u, "")
    .slice(0, MAX_REASON_CHARS);
}
