/** Issue 20.1: how the page and its files are served. */
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { createRuntime } from "haft";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import { builtDashboard } from "../../dashboard/built.ts";
import { DashboardFiles } from "../../../src/server/dashboard/dashboard-files.ts";

function files(): DashboardFiles {
  const folder = mkdtempSync(join(tmpdir(), "haft-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Haft</title>");
  writeFileSync(join(folder, "assets", "index-1a2b.js"), "export {};");
  return new DashboardFiles({ folder: pathToFileURL(`${folder}/`) });
}

const get = (path: string, headers: Readonly<Record<string, string>> = {}) => new Request(`http://127.0.0.1${path}`, { headers });

test("issue 20.1 the page is served at every screen's address, with a policy against inline code, and is never cached unchecked", async () => {
  const page = files();
  for (const path of ["/", "/sessions", "/sessions/a%2Fb/calls/c", "/tools/x%3A%3Ay", "/health"]) {
    const response = page.response(get(path));
    expect([path, response?.status, await response?.text()]).toEqual([path, 200, "<!doctype html><title>Haft</title>"]);
    const policy = response?.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/u);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|data:|https?:/u);
    expect(response?.headers.get("cache-control")).toBe("no-cache");
  }
});

test("issue 20.2 every screen of the page is served at its address", () => {
  const page = files();
  const names = [...readFileSync("src/dashboard/app.tsx", "utf8").matchAll(/\bname === "([a-z]+)"/gu)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(8);
  for (const name of names) expect([name, page.response(get(`/${name}`))?.status]).toEqual([name, 200]);
});

test("issue 20.1 assets are cached forever, and sent compressed to clients that accept it", () => {
  const page = files();
  const plain = page.response(get("/assets/index-1a2b.js"));
  expect(plain?.headers.get("cache-control")).toContain("immutable");
  expect(plain?.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(plain?.headers.has("content-encoding")).toBe(false);
});

test("issue 20.1 a decompressed asset equals the original file", async () => {
  const response = files().response(get("/assets/index-1a2b.js", { "accept-encoding": "gzip, br" }));
  expect(response?.headers.get("content-encoding")).toBe("gzip");
  expect(gunzipSync(await (response?.arrayBuffer() ?? new ArrayBuffer())).toString()).toBe("export {};");
});

test("issue 20.1 a path that is neither a file nor a screen is left to the API", () => {
  const page = files();
  for (const path of ["/v1/sessions", "/metrics", "/healthz", "/assets/none.js", "/assets/../index.html/x", "/assets/..%2findex.html"])
    expect([path, page.response(get(path))]).toEqual([path, undefined]);
  expect(page.response(new Request("http://127.0.0.1/", { method: "POST" }))).toBeUndefined();
});

test.each(["//", "//v1/info", "//etc/passwd", "///", String.raw`/\x`])(
  "E11 the path %s is no screen, whatever follows its slashes",
  (path) => {
    expect(files().response(new Request(`http://localhost${path}`))).toBeUndefined();
  },
);

test("issue 20.1 without its files the page returns 404, with how to get them in a bundle and in a clone", () => {
  const missing = new DashboardFiles({ folder: pathToFileURL("/nowhere/") });
  expect(() => missing.response(get("/"))).toThrow(
    expect.objectContaining({
      message: expect.stringContaining("This server has no dashboard"),
      operatorHint: expect.stringMatching(/bundle: .* external .* clone of Haft: npm run build/u),
    }),
  );
});

test("issue 20.1 a server has no dashboard unless it is enabled, and other hosts do not get it", async () => {
  const runtime = createRuntime();
  const auth = staticToken({ token: "a-token-for-the-tests" });
  const status = async (server: ReturnType<typeof createServer>, host: string) =>
    (await server.fetch(new Request(`http://${host}/sessions`, { headers: { host } }))).status;
  expect(await status(createServer(runtime, { auth }), "127.0.0.1")).toBe(404);
  expect(await status(createServer(runtime, { auth, dashboard: true }), "evil.example")).toBe(403);
  await runtime.close();
});

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("a browser that requests an unknown address gets the page with the status 404", async () => {
  const response = files().notFoundResponse(get("/sesions", BROWSER));
  expect([response?.status, response?.headers.get("content-type"), await response?.text()]).toEqual([
    404,
    "text/html; charset=utf-8",
    "<!doctype html><title>Haft</title>",
  ]);
  expect(files().notFoundResponse(get("/sesions", { accept: "*/*" }))).toBeUndefined();
  expect(new DashboardFiles({ folder: pathToFileURL("/nowhere/") }).notFoundResponse(get("/sesions", BROWSER))).toBeUndefined();
});

test("programs that request an unknown address, and unsupported methods, get JSON", async () => {
  await builtDashboard();
  const runtime = createRuntime();
  const server = createServer(runtime, { auth: staticToken({ token: "a-token-for-the-tests" }), dashboard: true });
  const asked = async (path: string, headers: Readonly<Record<string, string>>) => {
    const response = await server.fetch(get(path, headers));
    await response.body?.cancel();
    return `${response.status} ${response.headers.get("content-type")}`;
  };
  expect(await asked("/sesions", BROWSER)).toBe("404 text/html; charset=utf-8");
  expect(await asked("/sesions", {})).toBe("404 application/problem+json");
  expect(await asked("/v1/execute", BROWSER)).toBe("405 application/problem+json");
  expect(await asked("/v1/sessions", BROWSER)).toBe("401 application/problem+json");
  await runtime.close();
});
