/**
 * Every command, with its part of the general help. The rest is loaded when the command is run: loading is most of the time that a short command
 * takes.
 */
import { getOwn } from "../core/base/get-own.ts";
import type { Command, CommandBody, CommandGroup, GroupBody } from "./command.ts";

export interface CommandEntry {
  /** The arguments in the help. */
  readonly usage: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The first of its examples. */
  readonly example: string;
  load(): Promise<CommandBody | GroupBody>;
}

/** Commands by name, in the order of the help. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  chat: {
    usage: "",
    summary: "Chat with a model that has the tools.",
    example: "haft chat --model anthropic/claude-sonnet-5",
    load: async () => (await import("./commands/chat-command.ts")).chatCommand,
  },
  run: {
    usage: "[file | -]",
    summary: "Play a conversation, or have a model play it.",
    example: "haft run conversation.jsonl",
    load: async () => (await import("./commands/run-command.ts")).runCommand,
  },
  call: {
    usage: "<tool> [<json> | -]",
    summary: "Call one tool and print its answer.",
    example: `haft call files::read '{"path": "notes.md"}'`,
    load: async () => (await import("./commands/call-command.ts")).callCommand,
  },
  chain: {
    usage: "<command>",
    summary: "Run and check chains of tools.",
    example: `haft chain run trips::book '{"to": "Oslo"}'`,
    load: async () => (await import("./commands/chain-command.ts")).chainCommand,
  },
  generate: {
    usage: "[<file> | -]...",
    summary: "Make conversations over simulated tools, as data.",
    example: "haft generate --out train.jsonl --count 1000 --calls 10",
    load: async () => (await import("./commands/generate-command.ts")).generateCommand,
  },
  list: {
    usage: "[<toolset>]",
    summary: "List the tools, or those of one toolset.",
    example: "haft list",
    load: async () => (await import("./commands/list-command.ts")).listCommand,
  },
  search: {
    usage: "[<word>…]",
    summary: "Search the tools by words or by tag.",
    example: "haft search read a file",
    load: async () => (await import("./commands/search-command.ts")).searchCommand,
  },
  info: {
    usage: "<tool>",
    summary: "Show what one tool takes, returns and does.",
    example: "haft info files::edit",
    load: async () => (await import("./commands/info-command.ts")).infoCommand,
  },
  check: {
    usage: "",
    summary: "Check the configuration, toolsets and schemas.",
    example: "haft check",
    load: async () => (await import("./commands/check-command.ts")).checkCommand,
  },
  lock: {
    usage: "[<toolset>...]",
    summary: "Pin the tools of servers, or show what changed.",
    example: "haft lock",
    load: async () => (await import("./commands/lock-command.ts")).lockCommand,
  },
  trust: {
    usage: "",
    summary: "Trust the configuration of a folder as it is now.",
    example: "haft trust",
    load: async () => (await import("./commands/trust-command.ts")).trustCommand,
  },
  init: {
    usage: "",
    summary: "Write a first haft.toml, after a few questions.",
    example: "haft init",
    load: async () => (await import("./commands/init-command.ts")).initCommand,
  },
  import: {
    usage: "<file>",
    summary: "Turn another client's servers into a haft.toml.",
    example: "haft import .mcp.json",
    load: async () => (await import("./commands/import-command.ts")).importCommand,
  },
  serve: {
    usage: "",
    summary: "Serve tools over HTTP and MCP, and a dashboard.",
    example: "haft serve",
    load: async () => (await import("./commands/serve-command.ts")).serveCommand,
  },
  worker: {
    usage: "",
    summary: "Run the jobs that other processes leave.",
    example: "haft worker",
    load: async () => (await import("./commands/worker-command.ts")).workerCommand,
  },
  fleet: {
    usage: "",
    summary: "List the processes that use a store.",
    example: "haft fleet --store postgres://haft@localhost/haft",
    load: async () => (await import("./commands/fleet-command.ts")).fleetCommand,
  },
  mcp: {
    usage: "[login | logout]",
    summary: "Serve the tools to an MCP client.",
    example: "haft mcp",
    load: async () => (await import("./commands/mcp-command.ts")).mcpCommand,
  },
  sessions: {
    usage: "<command>",
    summary: "Manage the conversations in the store.",
    example: "haft sessions list",
    load: async () => (await import("./commands/sessions-command.ts")).sessionsCommand,
  },
  store: {
    usage: "<command>",
    summary: "Migrate, check, prune and copy the store.",
    example: "haft store migrate --dry-run",
    load: async () => (await import("./commands/store-command.ts")).storeCommand,
  },
  jobs: {
    usage: "<command>",
    summary: "Manage the background jobs in the store.",
    example: "haft jobs list",
    load: async () => (await import("./commands/jobs-command.ts")).jobsCommand,
  },
  schedules: {
    usage: "<command>",
    summary: "List, pause and resume the schedules of agents.",
    example: "haft schedules list",
    load: async () => (await import("./commands/schedules-command.ts")).schedulesCommand,
  },
  keys: {
    usage: "<command>",
    summary: "Add, list and revoke the keys of a server.",
    example: "haft keys add ci --scope read --scope execute --tools 'files::*'",
    load: async () => (await import("./commands/keys-command.ts")).keysCommand,
  },
  audit: {
    usage: "",
    summary: "List who called what, and how it ended.",
    example: "haft audit --since 24h",
    load: async () => (await import("./commands/audit-command.ts")).auditCommand,
  },
  approvals: {
    usage: "<command>",
    summary: "Answer calls that wait for approval.",
    example: "haft approvals list",
    load: async () => (await import("./commands/approvals-command.ts")).approvalsCommand,
  },
  open: {
    usage: "<file>",
    summary: "Show a file of calls in the dashboard.",
    example: "haft open travel.jsonl",
    load: async () => (await import("./commands/open-command.ts")).openCommand,
  },
  replay: {
    usage: "<recording> [<file>]",
    summary: "Answer calls from a recording; run nothing.",
    example: "haft replay travel.jsonl",
    load: async () => (await import("./commands/replay-command.ts")).replayCommand,
  },
};

/** Loads a command; undefined if there is none of that name. */
export async function loadCommand(name: string): Promise<Command | CommandGroup | undefined> {
  const entry = getOwn(COMMANDS, name);
  if (entry === undefined) return undefined;
  const { usage, summary } = entry;
  const body = await entry.load();
  return "commands" in body ? { name, summary, ...body } : { name, usage, summary, ...body };
}
