/** Nothing that a configuration goes wrong with says the value of a variable that may be a secret. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { configuredRuntime, type Extensions } from "../../src/config/config.ts";
import { ToolError } from "../../src/core/error.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configFolder } from "./config-folder.ts";

const CANARY = "canary-7f3a-swordfish";

const loud: Extensions = {
  engines: {
    loud: (options, { resolve }) => {
      throw new Error(`cannot log in with ${resolve(String(options["key"]))}`);
    },
  },
  sources: {
    loud: (options, { resolve }) => {
      throw new Error(`cannot log in with ${resolve(String(options["key"]))}`);
    },
  },
};

/** Everything that was said: by the error, or by the runtime that opened all the same. */
async function everythingSaid(config: string): Promise<string> {
  const folder = configFolder({ "haft.toml": config });
  const ports = fakePorts();
  try {
    const runtime = createRuntime({
      ...(await configuredRuntime(join(folder, "haft.toml"), { environment: { KEY: CANARY }, extensions: loud })),
      ports,
    });
    onTestFinished(async () => void (await runtime.close()));
    const report = await runtime.open();
    return JSON.stringify([report, ports.log]) + report.failed.map(({ error }) => describe(error)).join("\n");
  } catch (error: unknown) {
    return describe(error);
  }
}

/** What can be printed of it: message, details and hint, stack, and the same of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const data = error instanceof ToolError ? JSON.stringify(error) : "";
  return `${error.stack ?? error.message} ${data} ${error.cause === undefined ? "" : describe(error.cause)}`;
}

const PRINT = "console.error('It was started with: ' + process.argv[1] + '.'.repeat(100)); process.exit(2)";
const mcp = (lines: string): string => `[toolsets.x]\ntype = "mcp"\n${lines}\n`;
const rest = (lines: string): string => `[toolsets.x]\ntype = "openapi"\ndocument = "none.json"\n${lines}\n`;
const engine = (lines: string): string =>
  `[engines.e]\n${lines}\n[toolsets.x]\ntype = "inline"\nengine = "e"\ntools = [{ name = "a", description = "A" }]\n`;

test.each([
  ["an argument beside a wrong one", mcp('command = "x"\nargs = ["${KEY}", 1]')],
  ["a variable beside one that is not set", mcp('command = "x"\nenv = { A = "env:KEY", B = "${KEY}${NONE}" }')],
  ["a program that is not there", mcp('command = "./none"\nargs = ["--token=${KEY}"]\nenv = { A = "env:KEY" }')],
  ["a program that prints its argument", mcp(`command = "node"\nargs = ["-e", "${PRINT}", "\${KEY}"]`)],
  ["a program that prints a header in its argument", mcp(`command = "node"\nargs = ["-e", "${PRINT}", "Authorization: Bearer \${KEY}"]`)],
  ["a server with a secret in its path", mcp('url = "http://127.0.0.1:9/${KEY}/mcp"')],
  [
    "the address of a document that is not there",
    rest('document = "http://127.0.0.1:1/${KEY}/spec.json"').replace('document = "none.json"\n', ""),
  ],
  ["the address of a service, whose document is not there", rest('baseUrl = "https://example.com/bot${KEY}"')],
  ["an address that is none", mcp('url = "${KEY}"')],
  ["an address with a name and password", mcp('url = "ftp://me:${KEY}@localhost:1/x?token=${KEY}"')],
  ["a server that nobody runs", mcp('url = "http://me:${KEY}@127.0.0.1:9/x?token=${KEY}"\nheaders = { A = "env:KEY" }')],
  ["a header that cannot be sent", mcp('url = "http://127.0.0.1:9/"\nheaders = { A = "${KEY}\\u0001" }')],
  ["a token that cannot be sent", mcp('url = "http://127.0.0.1:9/"\nauth = { type = "bearer", token = "${KEY}\\u0001" }')],
  ["auth beside an unknown key", mcp('url = "http://127.0.0.1:9/"\nauth = { type = "bearer", token = "env:KEY", tokn = "env:KEY" }')],
  ["a base address that is none", rest('baseUrl = "${KEY}"')],
  [
    "a document that is not there",
    rest('headers = { A = "env:KEY" }\nauth = { type = "apiKey", name = "k", value = "env:KEY", in = "query" }'),
  ],
  ["a token address that is none", rest('auth = { type = "oauth2", tokenUrl = "${KEY}", clientId = "${KEY}", clientSecret = "env:KEY" }')],
  [
    "a document at an address that nobody answers",
    `[toolsets.x]\ntype = "openapi"\ndocument = "http://me:\${KEY}@127.0.0.1:9/a.json?key=\${KEY}"\n`,
  ],
  ["a factory of engines that says it", engine('type = "loud"\nkey = "env:KEY"')],
  ["a factory of sources that says it", '[toolsets.x]\ntype = "loud"\nkey = "Bearer ${KEY}"\n'],
  ["an engine that nobody knows", engine('type = "oracle"\nkey = "env:KEY"')],
])("E12 %s is an error that does not contain the secret", async (_what, config) => {
  const said = await everythingSaid(config);

  expect(said.length).toBeGreaterThan(100);
  expect(said).not.toContain(CANARY);
  expect(said).not.toContain(encodeURIComponent(CANARY));
});
