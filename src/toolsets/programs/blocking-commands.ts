/** Finds commands that would block on a prompt or only wait. They are refused, with an alternative. Pagers print if there is no terminal. */

interface BlockingCommand {
  /** Matches a simple command, without leading variable assignments. */
  readonly pattern: RegExp;
  /** Matches commands that do not wait after all, with their leading variable assignments. */
  readonly unless?: RegExp;
  readonly reason: string;
  readonly instead: string;
}

const NO_TERMINAL = "it needs a terminal, and there is none";

function terminalProgram(programs: string, unless?: RegExp): BlockingCommand {
  return {
    pattern: new RegExp(`^(?:sudo\\s+)?(?:${programs})(?:\\s|$)`, "u"),
    ...(unless === undefined ? {} : { unless }),
    reason: NO_TERMINAL,
    instead: "Read and change files with the file tools, and use commands that print and end.",
  };
}

/** Options with which every program prints and ends. */
const ONLY_PRINTS = /\s--(?:version|help)(?:\s|$)/u;
/** The `&` after a program that runs in the background. */
const BACKGROUND = /(?<![<>])&(?!>)/u;
/** A non-interactive editor that the command itself sets. */
const EDITOR = /(?:^|\s)GIT_(?:SEQUENCE_)?EDITOR=(?!(?:vim?|nvim|nano|pico|emacs)(?:\s|$))/u;

const BLOCKING_COMMANDS: readonly BlockingCommand[] = [
  {
    pattern: /^sleep\s+(?:(?:\d{2,}|[3-9])(?:\.\d+)?s?|\d+(?:\.\d+)?[mhd]|inf(?:inity)?)\s*$/u,
    reason: "it only waits",
    instead: "Run what you wait for as a background job, and wait for that.",
  },
  terminalProgram("vim?|nvim", /\s(?:-(?=[a-zA-Z]*[eE])[a-zA-Z]*s|-[eE]\s+-s|--headless)(?:\s|$)/u),
  terminalProgram("emacs", /\s--?(?:batch|script|daemon)\b/u),
  terminalProgram("top", /\s-(?:(?=\S*b)\S*n\s*\d|b\s.{0,200}-n\s*\d|n\s*\d+\s+-b|l\s*\d)/u),
  terminalProgram("tmux", /\s(?:-V|ls|list-|kill-|has|send|capture|show|set|new.{0,200}\s-[a-zA-Z]*d)/u),
  terminalProgram("screen", /\s-(?:ls|list|v|wipe|dm|d\s+-m|\S*X|\S.{0,200}\s-X)/u),
  terminalProgram("fzf", /\s(?:-f|--filter)/u),
  terminalProgram("nano|pico|ed|micro|htop|btop|watch|mc|ranger|dialog|whiptail"),
  {
    pattern: /^(?:python[\d.]*|node|deno|bun|irb|ghci|R|lua|php -a|ipython|bc|psql|mysql|sqlite3|redis-cli|mongosh|bash|sh|zsh|fish)\s*$/u,
    reason: "it would read its commands from a terminal, and there is none",
    instead: "Give it a file, or the commands as an argument.",
  },
  {
    pattern: /^tail\s+(?:\S+\s+)*(?:-[a-zA-Z]*[fF]|--follow)/u,
    unless: BACKGROUND,
    reason: "it never ends",
    instead: "Read the file, or the output of the job that writes it.",
  },
  {
    pattern: /^git\s+rebase\s+(?:\S+\s+)*(?:-i|--interactive)(?:\s|$)/u,
    unless: EDITOR,
    reason: NO_TERMINAL,
    instead: "Name the commits, or set GIT_SEQUENCE_EDITOR to a command that changes the steps.",
  },
  {
    pattern:
      /^git\s+(?:(?:add|checkout|reset|restore|stash)\s+(?:\S+\s+)*(?:-i|-p|--interactive|--patch)|commit\s+(?:\S+\s+)*(?:-p|--interactive|--patch))(?:\s|$)/u,
    reason: NO_TERMINAL,
    instead: "Name the files and commits.",
  },
  {
    pattern:
      /^git\s+commit(?!.*(?:\s-[a-zA-Z]*[mFC]|--message|--file|--no-edit|--reuse-message|--fixup|-h\b|--dry-run|--short|--long|--porcelain))/u,
    unless: EDITOR,
    reason: "it would open an editor",
    instead: "Give the message with -m.",
  },
  {
    pattern: /^(?:passwd|su|login|chsh)(?:\s|$)/u,
    unless: /passwd\s+(?:-S|--status)|chsh\s+(?:-l|--list-shells)/u,
    reason: "it asks for a password",
    instead: "Continue without it, or ask the user.",
  },
  {
    pattern: /^sudo\s(?!\s*(?:-\S+\s+)*(?:-[a-zA-Z]*n[a-zA-Z]*|--non-interactive)(?:\s|$))/u,
    unless: /^sudo\s+-[kKV]+\s*$/u,
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

/** Quoted text, whose closing quote may be missing, or any character after a backslash. */
const QUOTED = /\\[^]|'[^']*'?|"(?:\\[^]|[^"\\])*"?/gu;

/** Returns the part of a command that would wait, and the reason. Only examines the text: this helps a model and is no security check. */
export function findBlockingCommand(
  command: string,
): { readonly part: string; readonly reason: string; readonly instead: string } | undefined {
  const masked = maskQuotedText(command);
  const found = /<<|<|\|/u.test(masked)
    ? findBlockingPart(masked.split(/&&|\|\||;|\n/u).filter((part) => !/[<|]/u.test(part)))
    : findBlockingPart(masked.split(/&&|;|\n/u));
  if (found === undefined) return undefined;
  const at = masked.indexOf(found.part);
  return { ...found, part: command.slice(at, at + found.part.length) };
}

/**
 * Replaces quoted text by letters of the same length, and removes everything from the first here-document (`<<EOF`) on: both are data, not commands.
 * Joins lines that end in a backslash.
 */
function maskQuotedText(command: string): string {
  const unquoted = command.replaceAll(QUOTED, (part) => {
    if (part === "\\\n") return "  ";
    return part.startsWith("\\") ? part : "x".repeat(part.length);
  });
  const [before = ""] = unquoted.split(/<<-?\s*\w/u, 1);
  return before.length < unquoted.length ? `${before}<` : before;
}

function findBlockingPart(parts: readonly string[]): ReturnType<typeof findBlockingCommand> {
  const commands = parts.map((part) => part.trim()).filter((part) => part !== "");
  for (const command of commands) {
    const part = command.replace(/^(?:[A-Za-z_]\w*=\S*\s+)+/u, "");
    if (ONLY_PRINTS.test(part)) continue;
    const found = BLOCKING_COMMANDS.find(({ pattern, unless }) => pattern.test(part) && unless?.test(command) !== true);
    // A wait between two commands is deliberate.
    if (found !== undefined && (found.reason !== "it only waits" || commands.length === 1))
      return { part, reason: found.reason, instead: found.instead };
  }
  return undefined;
}
