import { expect, test } from "vitest";
import { readCommandLine, type CliOptions } from "../../src/cli/command-line.ts";
import { ToolError } from "../../src/core/error.ts";

const NONE: CliOptions = {
  config: undefined,
  json: false,
  yes: false,
  help: false,
  version: false,
  tag: [],
  allTags: false,
  dryRun: false,
  olderThan: undefined,
  only: [],
  schema: undefined,
  allKeys: false,
  expires: undefined,
  principal: undefined,
  tool: undefined,
  since: undefined,
  until: undefined,
  outcome: undefined,
  scope: [],
  limit: undefined,
  store: undefined,
  address: undefined,
  name: undefined,
  place: [],
  healthPort: undefined,
  noWorker: false,
  session: undefined,
  simulate: false,
  settle: false,
  state: [],
  follow: false,
  remember: undefined,
  pattern: undefined,
  for: undefined,
  digest: undefined,
  preview: false,
  add: undefined,
  revoke: undefined,
  takeOver: false,
  as: undefined,
  force: false,
  id: undefined,
  nearest: false,
  check: false,
  forget: false,
  http: undefined,
  port: undefined,
  host: undefined,
  allowedHost: [],
  allowedOrigin: [],
  basePath: undefined,
  agent: [],
  tokenFile: undefined,
  watch: false,
  validate: false,
  model: undefined,
  noBackground: false,
  reasoningEffort: undefined,
  system: undefined,
  prompt: undefined,
  record: undefined,
  replay: undefined,
  seed: undefined,
  out: undefined,
  count: undefined,
  calls: undefined,
  format: undefined,
  concurrency: undefined,
  tools: [],
  maxTools: undefined,
  noParallelCalls: false,
  weights: false,
  sample: undefined,
  overwrite: false,
  split: undefined,
  from: [],
  fromStore: false,
  redact: [],
};

test("options are accepted anywhere, short or long, with or without =", () => {
  expect(readCommandLine(["-c", "a.toml", "call", "--json", "x", '{"a": -1}', "-y"])).toEqual({
    command: "call",
    args: ["x", '{"a": -1}'],
    given: ["config", "json", "yes"],
    options: { ...NONE, config: "a.toml", json: true, yes: true },
  });
  expect(readCommandLine(["search", "--tag=a", "--tag", "b", "--all-tags", "--limit=07", "words"])).toEqual({
    command: "search",
    args: ["words"],
    given: ["tag", "all-tags", "limit"],
    options: { ...NONE, tag: ["a", "b"], allTags: true, limit: 7 },
  });
});

test("sessions, stores and replays have their own options", () => {
  const argv = [
    "sessions",
    "--store",
    "a.db",
    "--session=-s",
    "--simulate",
    "--settle",
    "--take-over",
    "--as",
    "openai",
    "--force",
    "--id",
    "i",
    "--nearest",
  ];
  expect(readCommandLine([...argv, "resume", "x"])).toEqual({
    command: "sessions",
    args: ["resume", "x"],
    given: ["store", "session", "simulate", "settle", "take-over", "as", "force", "id", "nearest"],
    options: {
      ...NONE,
      store: "a.db",
      session: "-s",
      simulate: true,
      settle: true,
      takeOver: true,
      as: "openai",
      force: true,
      id: "i",
      nearest: true,
    },
  });
});

test("- is an argument, and so is everything after --", () => {
  expect(readCommandLine(["run", "-", "--", "--json"])).toEqual({ command: "run", args: ["-", "--json"], given: [], options: NONE });
  expect(readCommandLine([])).toEqual({ command: undefined, args: [], given: [], options: NONE });
});

test.for([
  [["--jason"], "There is no option --jason.", "Did you mean --json?"],
  [["-x"], "There is no option -x.", "See haft --help, or haft <command> --help."],
  [["--__proto__"], "There is no option --__proto__.", "Did you mean --port?"],
  [["--json=yes"], "--json takes no value.", "Write --json alone."],
  [["-c"], "-c needs a value.", "For example: --config ./haft.toml"],
  [["--config="], "--config needs a value.", "For example: --config ./haft.toml"],
  [["--store", "--json"], "--store needs a value.", "For example: --store haft.db"],
  [["--simulated"], "There is no option --simulated.", "Did you mean --simulate?"],
  [["--tag", "--json"], "--tag needs a value.", "For example: --tag weather"],
  [["--limit", "1.5"], '--limit takes an integer from 1, not "1.5".', undefined],
  [["--limit", "0"], '--limit takes an integer from 1, not "0".', undefined],
  [["--limit", "1e3"], '--limit takes an integer from 1, not "1e3".', undefined],
] as const)("%j is refused", ([argv, message, hint]) => {
  expect(() => readCommandLine(argv)).toThrow(new ToolError("invalid_argument", message, hint === undefined ? {} : { hint }));
});
