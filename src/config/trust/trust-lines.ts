/** Sentences that say what runs on this machine, is sent off it, or is outside the folder of a configuration. */

export function commandLine({ command, args }: { readonly command: string; readonly args: readonly string[] }): string {
  return `runs ${[command, ...args].map((word) => (/^[\w./:@=-]+$/u.test(word) ? word : JSON.stringify(word))).join(" ")}`;
}

export function importLine(module: string): string {
  return `imports ${JSON.stringify(module)}`;
}

/** @param variable the name of the variable */
export function sentLine(variable: string): string {
  return `sends the variable ${variable}`;
}

/** @param path an absolute path */
export function outsideLine(path: string): string {
  return `reaches ${path}, outside the folder of the configuration`;
}
