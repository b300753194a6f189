/** Finds the file of a command on Windows as other systems do: in the folders of `PATH`, and never in the current folder. */
import { lstatSync, statSync } from "node:fs";
import { win32 } from "node:path";

export interface CommandSearch {
  /** The program's environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** File extensions that may be started, in lower case; the first match counts. @default those of `PATHEXT` */
  readonly extensions?: readonly string[];
  /** @default the platform of this process */
  readonly platform?: string;
  /** @default checks the file system */
  readonly isFile?: (path: string) => boolean;
}

/**
 * Returns the file of a command; the command itself on other systems, and if it contains a folder. Windows would search the current folder
 * first, where a model may write: a file `npx.cmd` there would be started instead of npx.
 *
 * @throws Error `ENOENT` if no folder of `PATH` has the command
 */
export function findCommandFile(command: string, search: CommandSearch): string {
  const { environment, platform = process.platform, isFile = isProgramFile } = search;
  if (platform !== "win32" || /[\\/:]/u.test(command)) return command;
  const { extensions = getVariable(environment, "PATHEXT", ".COM;.EXE;.BAT;.CMD").toLowerCase().split(";") } = search;
  const hasEnding = extensions.includes(win32.extname(command).toLowerCase());
  const names = [...(hasEnding ? [command] : []), ...extensions.filter((ending) => ending !== "").map((ending) => command + ending)];
  for (const folder of getVariable(environment, "PATH", "").split(";").map(removeQuotes).filter(isOnDrive)) {
    const found = names.map((name) => win32.join(folder, name)).find(isFile);
    if (found !== undefined) return found;
  }
  throw Object.assign(new Error(`the command ${JSON.stringify(command)} was not found in PATH`), { code: "ENOENT" });
}

/** Returns a variable regardless of case: on Windows, `Path` and `PATH` are the same. */
function getVariable(environment: Readonly<Record<string, string>>, name: string, otherwise: string): string {
  return Object.entries(environment).find(([key, value]) => key.toUpperCase() === name && value !== "")?.[1] ?? otherwise;
}

function removeQuotes(folder: string): string {
  return folder.replaceAll('"', "");
}

/** False for `\tools` and `tools`, which depend on the current drive or folder. */
function isOnDrive(folder: string): boolean {
  return win32.isAbsolute(folder) && win32.parse(folder).root.length > 1;
}

/**
 * Whether a path is a program file. Includes aliases of Microsoft Store apps, such as `python.exe`: Windows starts them, but `stat` cannot
 * follow them.
 *
 * @see https://github.com/nodejs/node/issues/36790
 */
export function isProgramFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return isNoFolder(path);
  }
}

function isNoFolder(path: string): boolean {
  try {
    return !lstatSync(path).isDirectory();
  } catch {
    return false; // in a folder that may not be read
  }
}
