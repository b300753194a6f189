/** Finds commands that would wait for a person, or for nothing: they are refused with what to do instead. */

interface Waiting {
  /** Matches a simple command, without variables that are set before it. */
  readonly pattern: RegExp;
  readonly reason: string;
  readonly instead: string;
}

const NO_TERMINAL = "it needs a terminal, and there is none";

const WAITING: readonly Waiting[] = [
  {
    pattern: /^sleep\s+(?:\d{2,}|[3-9])(?:\.\d+)?[smhd]?\s*$/u,
    reason: "it only waits",
    instead: "Run what you wait for as a background job, and wait for that.",
  },
  {
    pattern:
      /^(?:sudo\s+)?(?:vim?|nvim|nano|pico|emacs|ed|micro|less|more|most|man|top|htop|btop|watch|tmux|screen|mc|ranger|fzf|dialog|whiptail)(?:\s|$)/u,
    reason: NO_TERMINAL,
    instead: "Read and change files with the tools for files, and use commands that print and end.",
  },
  {
    pattern: /^(?:python[\d.]*|node|deno|bun|irb|ghci|R|lua|php -a|ipython|bc|psql|mysql|sqlite3|redis-cli|mongosh|bash|sh|zsh|fish)\s*$/u,
    reason: "it would read its commands from a terminal, and there is none",
    instead: "Give it a file, or the commands as an argument.",
  },
  {
    pattern: /^tail\s+(?:\S+\s+)*(?:-[a-zA-Z]*[fF]|--follow)/u,
    reason: "it never ends",
    instead: "Read the file, or the output of the job that writes it.",
  },
  {
    pattern: /^git\s+(?:rebase|add|checkout|reset|stash|commit)\s+(?:\S+\s+)*(?:-i|-p|--interactive|--patch)(?:\s|$)/u,
    reason: NO_TERMINAL,
    instead: "Name the files and commits.",
  },
  {
    pattern: /^git\s+commit(?!.*(?:\s-[a-zA-Z]*[mFC]|--message|--file|--no-edit|--reuse-message|--fixup|--help|-h\b))/u,
    reason: "it would open an editor",
    instead: "Give the message with -m.",
  },
  { pattern: /^(?:passwd|su|login|chsh)(?:\s|$)/u, reason: "it asks for a password", instead: "Go on without it, or ask the user." },
  {
    pattern: /^sudo\s(?!\s*(?:-\S+\s+)*(?:-[a-zA-Z]*n[a-zA-Z]*|--non-interactive)(?:\s|$))/u,
    reason: "it may ask for a password",
    instead: "Use sudo -n, which fails where a password is needed.",
  },
  {
    pattern: /^(?:read|select)(?:\s+-[a-zA-Z]+)*(?:\s+-p\s|\s+\w+\s*$|\s*$)/u,
    reason: "it reads from a terminal, and there is none",
    instead: "Put the value into the command.",
  },
  { pattern: /^cat\s*$/u, reason: "its input is empty", instead: "Name a file." },
];

/** Quoted text, whose second mark may be missing, and any other character behind a backslash. */
const QUOTED = /\\[^]|'[^']*'?|"(?:\\[^]|[^"\\])*"?/gu;

/** The part of a command that would wait, and the reason. Judged by its text alone: this helps a model, and guards nothing. */
export function waitsFor(command: string): { readonly part: string; readonly reason: string; readonly instead: string } | undefined {
  const masked = withoutTexts(command);
  const found = /<<|<|\|/u.test(masked)
    ? waitsAlone(masked.split(/&&|\|\||;|\n/u).filter((part) => !/[<|]/u.test(part)))
    : waitsAlone(masked.split(/&&|;|\n/u));
  if (found === undefined) return undefined;
  const at = masked.indexOf(found.part);
  return { ...found, part: command.slice(at, at + found.part.length) };
}

/**
 * Quoted text as letters, so that its length stays, and nothing from the first text between marks (`<<EOF`) on: both are data, and no command.
 * Lines that a backslash joins are one.
 */
function withoutTexts(command: string): string {
  const unquoted = command.replaceAll(QUOTED, (part) => {
    if (part === "\\\n") return "  ";
    return part.startsWith("\\") ? part : "x".repeat(part.length);
  });
  const [before = ""] = unquoted.split(/<<-?\s*\w/u, 1);
  return before.length < unquoted.length ? `${before}<` : before;
}

function waitsAlone(parts: readonly string[]): ReturnType<typeof waitsFor> {
  const commands = parts.map((part) => part.trim().replace(/^(?:[A-Za-z_]\w*=\S*\s+)+/u, "")).filter((part) => part !== "");
  for (const part of commands) {
    const found = WAITING.find(({ pattern }) => pattern.test(part));
    // A wait between two commands is a wait for something.
    if (found !== undefined && (found.reason !== "it only waits" || commands.length === 1))
      return { part, reason: found.reason, instead: found.instead };
  }
  return undefined;
}
