import { expect, test } from "vitest";
import { floatingVersion } from "../../src/config/trust/floating-version.ts";

test.each([
  ["npx", ["-y", "server"], "server", "server@1.2.3"],
  ["npx", ["-y", "@scope/server"], "@scope/server", "@scope/server@1.2.3"],
  ["npx", ["-y", "@scope/server@latest", "/tmp"], "@scope/server@latest", "@scope/server@1.2.3"],
  ["npx", ["server@^1.2.0"], "server@^1.2.0", "server@1.2.3"],
  ["npx", ["--package=server", "-c", "serve"], "server", "server@1.2.3"],
  ["/usr/bin/npx", ["-c", "x", "server"], "server", "server@1.2.3"],
  ["npx.cmd", ["-p", "server", "serve"], "server", "server@1.2.3"],
  ["uvx", ["mcp-server"], "mcp-server", "mcp-server==1.2.3"],
  ["uvx", ["--from", "mcp-server>=1", "serve"], "mcp-server>=1", "mcp-server>=1==1.2.3"],
  ["pipx", ["run", "mcp-server"], "mcp-server", "mcp-server==1.2.3"],
])("J09 %s %j floats", (command, args, name, example) => {
  const program = command.replace(/^.*\//u, "").replace(".cmd", "");

  expect(floatingVersion(command, args, () => false)).toBe(
    `${program} runs whatever version of "${name}" is newest; name one exactly, such as "${example}".`,
  );
});

test.each([
  ["npx", ["-y", "server@1.2.3"]],
  ["npx", ["-y", "@scope/server@1.2.3-beta.1", "--port", "80"]],
  ["npx", ["--package=server@1.2.3", "serve"]],
  ["npx", ["./server.js"]],
  ["uvx", ["mcp-server==0.4.1"]],
  ["uvx", ["mcp-server@0.4.1"]],
  ["node", ["server.js"]],
  ["npx", []],
])("J09 %s %j is exact, local, or not a package runner", (command, args) => {
  expect(floatingVersion(command, args, () => false)).toBeUndefined();
});

test.each([
  ["npx", ["-y", "server"], true],
  ["npx", ["-y", "@scope/server"], true],
  ["bunx", ["server"], true],
  ["npx", ["server@latest"], false],
  ["npx", ["server@^1.2.0"], false],
  ["pnpx", ["server"], false],
  ["uvx", ["server"], false],
])("J09 %s %j of an installed package runs the installed version: %s", (command, args, runsInstalled) => {
  expect(floatingVersion(command, args, () => true) === undefined).toBe(runsInstalled);
});
