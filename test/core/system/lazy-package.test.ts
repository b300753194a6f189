import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packageLoadError } from "../../../src/core/system/lazy-package.ts";

const HONO = { name: "hono", need: "the HTTP API needs it" } as const;

test.each([
  ["Node", "Cannot find package 'hono' imported from /srv/node_modules/haft/dist/server.js"],
  ["a folder without a part of it", "Cannot find package 'hono/router/trie-router' imported from /srv/haft.js"],
  ["Bun", "Cannot find package 'hono' from '/srv/haft.js'"],
  ["Deno", 'Import "hono/utils/url" not a dependency'],
  ["require() and webpack", "Cannot find module 'hono'\nRequire stack:\n- /srv/haft.js"],
  ["Vite", 'Could not resolve "hono" imported by "haft". Is it installed?'],
  ["Vite's development server", "Failed to load url hono (resolved id: hono) in /srv/haft.js. Does the file exist?"],
  [
    "Yarn's Plug'n'Play",
    "haft tried to access hono (a peer dependency) but it isn't provided by your application; this makes the require call ambiguous and unsound.\n\nRequired package: hono",
  ],
  [
    "Yarn's Plug'n'Play for a program",
    "Your application tried to access hono, but it isn't declared in your dependencies; this makes the require call ambiguous and unsound.\n\nRequired package: hono",
  ],
  ["Cloudflare Workers", 'No such module "hono".'],
])("a missing package is reported as not installed, from the message of %s", (_, message) => {
  expect(packageLoadError(HONO, new Error(message))).toMatchObject({
    code: "unavailable",
    message: "The package hono is not installed; the HTTP API needs it.",
    operatorHint: "npm install hono",
  });
});

test.each([
  ["Cannot find package 'honos' imported from /srv/haft.js", "Cannot find package 'honos'"],
  ["Cannot find package 'zod' imported from /srv/node_modules/hono/dist/index.js", "Cannot find package 'zod'"],
  ["Cannot find module '/srv/node_modules/hono/dist/url.js' imported from /srv/haft.js", "Cannot find module 'hono/dist/url.js'"],
  ["Cannot find module '/home/a user/node_modules/hono/dist/url.js' imported from /srv/haft.js", "Cannot find module 'hono/dist/url.js'"],
  [
    "Package subpath './utils/url' is not defined by \"exports\" in /srv/node_modules/hono/package.json",
    "Package subpath './utils/url' is not defined by \"exports\" in hono/package.json",
  ],
  ["Cannot find module '/home/ada/my hono/dist/url.js' imported from /srv/haft.js", "Cannot find module 'url.js'"],
  ["Cannot find module 'file:///srv/hono/url.js' imported from /srv/haft.js", "Cannot find module 'url.js'"],
  [
    "Package subpath './url' is not defined by \"exports\" in /home/a user/node_modules/hono/package.json imported from /srv/haft.js",
    "Package subpath './url' is not defined by \"exports\" in hono/package.json",
  ],
  ["Invalid package config C:\\a user\\node_modules\\hono\\package.json.", "Invalid package config hono\\package.json"],
  [
    'Invalid package config /srv/node_modules/hono/package.json while importing "hono" from /srv/a user/haft.js.',
    "Invalid package config hono/package.json",
  ],
  ["/home/a user/hono/x.node: cannot open shared object file", "x.node: cannot open shared object file"],
  ["Cannot find module 'hono/url'\nRequire stack:\n- /srv/node_modules/hono/index.js\n- /srv/haft.js", "Cannot find module 'hono/url'"],
  ["Cannot find package 'hono/url' imported from C:\\srv\\node_modules\\hono\\index.js", "Cannot find package 'hono/url'"],
  ["Cannot find package 'hono/url' from '/srv/node_modules/hono/index.js'", "Cannot find package 'hono/url' from 'hono/index.js'"],
  [
    "Cannot destructure property 'TrieRouter' of '(intermediate value)' as it is undefined.",
    "Cannot destructure property 'TrieRouter' of '(intermediate value)' as it is undefined",
  ],
])("any other import failure is reported without local folders: %s", (message, reason) => {
  expect(packageLoadError(HONO, new Error(message))).toMatchObject({
    message: `The package hono is installed but cannot be loaded: ${reason}; the HTTP API needs it.`,
    operatorHint: expect.stringMatching(/^npm ls hono .* In a bundle/u),
  });
});

test("every part reports a broken package as broken, not as missing", async () => {
  const hooks = new URL("break-packages.ts", import.meta.url).href;
  const program = fileURLToPath(new URL("broken-packages.ts", import.meta.url));
  const args = ["--no-warnings", "--conditions=haft-source", "--import", hooks, program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const said = Object.entries(JSON.parse(stdout) as Readonly<Record<string, string>>);
  expect(said).toHaveLength(8);
  expect(said).toEqual(
    said.map(([name]) => [name, expect.stringContaining(`The package ${name} is installed but cannot be loaded: it is broken;`)]),
  );
});
