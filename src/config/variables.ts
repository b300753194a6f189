/** Puts environment variables into the values of a configuration. */

export type Environment = Readonly<Record<string, string | undefined>>;

export type Resolved = { readonly text: string } | { readonly problem: string };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const PREFIX = "env:";
const QUOTED_LENGTH = 60;

/**
 * Resolves `env:NAME`, the whole text, and each `${NAME}` inside it.
 *
 * What a variable holds is taken as it is, never looked through for more variables. A variable that is not set
 * is a problem that names it; the values of variables are in no message.
 */
export function resolveVariables(text: string, environment: Environment): Resolved {
  if (text.startsWith(PREFIX)) return valueOf(text.slice(PREFIX.length), text, environment);
  let resolved = "";
  let at = 0;
  for (let start = text.indexOf("${"); start >= 0; start = text.indexOf("${", at)) {
    const end = text.indexOf("}", start);
    const name = end < 0 ? "" : text.slice(start + 2, end);
    const value = valueOf(name, text.slice(start, end < 0 ? text.length : end + 1), environment);
    if ("problem" in value) return value;
    resolved += text.slice(at, start) + value.text;
    at = end + 1;
  }
  return { text: resolved + text.slice(at) };
}

function valueOf(name: string, written: string, environment: Environment): Resolved {
  if (!NAME.test(name)) {
    const shown = written.length > QUOTED_LENGTH ? `${written.slice(0, QUOTED_LENGTH)}…` : written;
    return { problem: `${JSON.stringify(shown)} does not name an environment variable; write \${NAME}, or env:NAME as the whole value.` };
  }
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  return value === undefined ? { problem: `the environment variable ${name} is not set.` } : { text: value };
}
