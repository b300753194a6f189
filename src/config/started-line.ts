/** How it is said that something runs on this machine, or leaves it. */

export function commandLine({ command, args }: { readonly command: string; readonly args: readonly string[] }): string {
  return `runs ${[command, ...args].map((word) => (/^[\w./:@=-]+$/u.test(word) ? word : JSON.stringify(word))).join(" ")}`;
}

export function importLine(module: string): string {
  return `imports ${JSON.stringify(module)}`;
}

/** @param variable its name */
export function sentLine(variable: string): string {
  return `sends the variable ${variable}`;
}
