/** Finds the file of a command on Windows as other systems do: in the folders of `PATH`, and never in the one that the process runs in. */
import { lstatSync, statSync } from "node:fs";
import { win32 } from "node:path";

export interface CommandSearch {
  /** The variables that the program gets. */
  readonly environment: Readonly<Record<string, string>>;
  /** Endings of files that may be started, in lower case, the first found counts. @default those of `PATHEXT` */
  readonly endings?: readonly string[];
  /** @default that of this process */
  readonly platform?: string;
  /** @default as the file system says */
  readonly isFile?: (path: string) => boolean;
}

/**
 * The command unchanged on other systems, and where it names a folder. Windows looks into the current folder first, which is where a model
 * may write: a file `npx.cmd` that it left there would be started in place of npx.
 *
 * @throws Error `ENOENT` where no folder of `PATH` has the command
 */
export function commandFile(command: string, search: CommandSearch): string {
  const { environment, platform = process.platform, isFile = isProgramFile } = search;
  if (platform !== "win32" || /[\\/:]/u.test(command)) return command;
  const { endings = valueOf(environment, "PATHEXT", ".COM;.EXE;.BAT;.CMD").toLowerCase().split(";") } = search;
  const hasEnding = endings.includes(win32.extname(command).toLowerCase());
  const names = [...(hasEnding ? [command] : []), ...endings.filter((ending) => ending !== "").map((ending) => command + ending)];
  for (const folder of valueOf(environment, "PATH", "").split(";").map(withoutQuotes).filter(isOnDrive)) {
    const found = names.map((name) => win32.join(folder, name)).find(isFile);
    if (found !== undefined) return found;
  }
  throw Object.assign(new Error(`the command ${JSON.stringify(command)} was not found in PATH`), { code: "ENOENT" });
}

/** Windows takes `Path` and `PATH` for one variable. */
function valueOf(environment: Readonly<Record<string, string>>, name: string, otherwise: string): string {
  return Object.entries(environment).find(([key, value]) => key.toUpperCase() === name && value !== "")?.[1] ?? otherwise;
}

function withoutQuotes(folder: string): string {
  return folder.replaceAll('"', "");
}

/** `\tools` and `tools` depend on the current folder. */
function isOnDrive(folder: string): boolean {
  return win32.isAbsolute(folder) && win32.parse(folder).root.length > 1;
}

/**
 * Also an alias of an app from the store of Windows, such as `python.exe`: Windows starts it, and does not say what it leads to.
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
