/** Packages that are loaded when first needed, most of them optional peer dependencies, and the error if one cannot be loaded. */
import { ToolError, describeThrown, type ToolErrorOptions } from "../error.ts";
import type { ErrorCode } from "../error-codes.ts";

export interface LazyPackage {
  readonly name: string;
  /** The rest of the sentence, which says what needs the package: `the HTTP API needs it`. */
  readonly need: string;
  /** @default "unavailable" */
  readonly code?: ErrorCode;
}

/** Matches how Node, Bun, Deno, Yarn's Plug'n'Play, bundlers and Vite say that a module was not found; the group is the requested module. */
const NOT_FOUND =
  /(?:cannot find (?:package|module)|could not (?:resolve|find package)|no such module|failed to load url|tried to access|import)\s+["'`]?(@?[^"'`\s,]+)/iu;
/** Matches the module that made the request, as Node, Bun and the stack of require() name it. */
const IMPORTED_BY = /(?: imported from | while importing .{0,500} from |' from '|\nRequire stack:\n- )(.*)/u;
/** Match an absolute path, quoted or not, up to its last `node_modules` or its file: clients of a server must not see folders of this machine. */
const FOLDERS = [
  /(?<=["'`])(?:file:\/\/|\w:)?[\\/][^"'`]*[\\/]node_modules[\\/]/gu,
  /(?<=^|[\s(])(?:file:\/\/|\w:)?[\\/][^"'`]*[\\/]node_modules[\\/]/gu,
  /(?<=["'`])(?:file:\/\/|\w:)?[\\/][^"'`]*[\\/](?=[^"'`]*["'`])/gu,
  /(?<=^|[\s(])(?:file:\/\/|\w:)?[\\/][^"'`:]*[\\/]/gu,
];
const MAX_REASON_CHARS = 500;
/** How much of a line is searched for folders, in characters. */
const MAX_LINE = 4_000;

/**
 * Imports a package with `load`, such as `() => import("hono")`.
 *
 * @throws ToolError as `packageLoadError` returns it, as a rejection
 */
export async function loadPackage<Module>(load: () => Promise<Module>, wanted: LazyPackage, options?: ToolErrorOptions): Promise<Module> {
  try {
    return await load();
  } catch (thrown: unknown) {
    throw packageLoadError(wanted, thrown, options);
  }
}

/**
 * Returns the error for a package whose import failed. The package counts as not installed only if the import itself was not found: an installed
 * package may be damaged, of an incompatible version, or lack a dependency of its own.
 */
export function packageLoadError(
  { name, need, code = "unavailable" }: LazyPackage,
  thrown: unknown,
  options: ToolErrorOptions = {},
): ToolError {
  if (isNotInstalled(name, thrown))
    return new ToolError(code, `The package ${name} is not installed; ${need}.`, {
      ...options,
      operatorHint: `npm install ${name}`,
      cause: thrown,
    });
  return new ToolError(code, `The package ${name} is installed but cannot be loaded: ${formatReason(describeThrown(thrown))}; ${need}.`, {
    ...options,
    operatorHint: `npm ls ${name} says which version is installed, and whether it fits; npm install ${name} installs it again. In a bundle, mark the package haft as external.`,
    cause: thrown,
  });
}

/** Whether an import failed because the package itself is not installed. @param thrown the error of the import, or its message */
export function isNotInstalled(name: string, thrown: unknown): boolean {
  const text = describeThrown(thrown);
  const asked = NOT_FOUND.exec(text)?.[1];
  if (asked !== name && asked?.startsWith(`${name}/`) !== true) return false;
  const askedBy = IMPORTED_BY.exec(text)?.[1]?.replaceAll("\\", "/");
  return askedBy?.includes(`/node_modules/${name}/`) !== true; // a package may import its own files by its name
}

function formatReason(text: string): string {
  const [line = ""] = text.split("\n", 1);
  const said = line
    .slice(0, MAX_LINE)
    .replace(/ (?:imported from|while importing) .*$/su, "")
    .replace(/\.$/u, "");
  return FOLDERS.reduce((text, folder) => text.replaceAll(folder, ""), said).slice(0, MAX_REASON_CHARS);
}
