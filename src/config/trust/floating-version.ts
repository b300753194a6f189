/** Detects commands that would fetch and run the newest version of a package. */
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RegistryEntry } from "../tables/registry-config.ts";
import type { Note } from "../tools/client-formats.ts";

interface Runner {
  /** Options that take the next argument as their value. */
  readonly valued: readonly string[];
  /** Options whose value is the package. */
  readonly named: readonly string[];
  readonly pinned: RegExp;
  readonly example: string;
}

const NPM: Runner = {
  valued: ["-c", "--call", "-w", "--workspace"],
  named: ["-p", "--package"],
  pinned: /^@?[^@]+@\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/u,
  example: "@1.2.3",
};
const PYTHON: Runner = {
  valued: ["--python", "--with", "--index-url"],
  named: ["--from", "--spec"],
  pinned: /^[^=@]+(?:==|@)\d+\.\d[\w.+-]*$/u,
  example: "==1.2.3",
};
const RUNNERS: ReadonlyMap<string, Runner> = new Map([
  ["npx", NPM],
  ["bunx", NPM],
  ["pnpx", NPM],
  ["uvx", PYTHON],
  ["pipx", PYTHON],
]);

/** Programs that run an installed package of the project if there is one, and then fetch nothing. */
const LOCAL_FIRST: ReadonlySet<string> = new Set(["npx", "bunx"]);

/**
 * Returns a warning for commands such as `npx -y some-server`; undefined for an exact version, a local path, an installed package, or any other
 * command.
 *
 * @param isInstalled whether a package is installed in the folder where the command is started, or in one above
 */
export function floatingVersion(
  command: string,
  args: readonly string[],
  isInstalled: (packageName: string) => boolean,
): string | undefined {
  const program = command.replace(/^.*[\\/]/u, "").replace(/\.(?:cmd|exe)$/u, "");
  const runner = RUNNERS.get(program);
  const name = runner === undefined ? undefined : packageOf(program === "pipx" ? args.slice(1) : args, runner);
  if (runner === undefined || name === undefined || runner.pinned.test(name) || /^[./~]|^file:/u.test(name)) return undefined;
  if (LOCAL_FIRST.has(program) && unversioned(name) === name && isInstalled(name)) return undefined;
  return `${program} runs whatever version of ${JSON.stringify(name)} is newest; name one exactly, such as ${JSON.stringify(`${unversioned(name)}${runner.example}`)}.`;
}

function packageOf(args: readonly string[], runner: Runner): string | undefined {
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    const [option = "", value] = argument.split("=", 2);
    if (runner.named.includes(option)) return value ?? args[index + 1];
    if (!argument.startsWith("-")) return argument;
    if (runner.valued.includes(argument)) index++;
  }
  return undefined;
}

function unversioned(name: string): string {
  return name.replace(/(?<=.)(?:@|==).*$/su, "");
}

/** Returns a warning for each enabled server that is started by such a command. @param folder the folder of the configuration */
export function floatingVersions(entries: readonly RegistryEntry[], folder: string): readonly Note[] {
  return entries.flatMap(({ path, toolset }) => {
    if (toolset.type !== "mcp" || !toolset.enabled || toolset.command === undefined) return [];
    const text = floatingVersion(toolset.command, toolset.args, (name) => isInstalled(folder, name));
    return text === undefined ? [] : [{ path: [...path, "args"], text }];
  });
}

/** Searches for a package like npm: in the folder itself, then in each one above it. */
function isInstalled(folder: string, packageName: string): boolean {
  if (!/^(?:@[\w.-]+\/)?[\w.-]+$/u.test(packageName)) return false;
  for (let at = folder; ; at = dirname(at)) {
    const found = statSync(join(at, "node_modules", packageName, "package.json"), { throwIfNoEntry: false });
    if (found?.isFile() === true) return true;
    if (at === dirname(at)) return false;
  }
}
