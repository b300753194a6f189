/** A client that others generate from the document: `openapi-typescript` and `openapi-fetch`. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import createFetchClient from "openapi-fetch";
import { expect, onTestFinished, test } from "vitest";
import { testInCI } from "../../test-in-ci.ts";
import { API, OPERATION_IDS } from "../../../src/server/api.ts";
import type { Route } from "../../../src/server/api/requests/route.ts";
import { TOKEN, startApi } from "./api-server.ts";
import { MAY_BE_GONE, authWithKeys, setTheScene, valueOf } from "./scene.ts";

/** The part of the generated types that this test uses, written as the generator writes them. */
interface Paths {
  "/v1/tools": { get: { responses: { 200: { content: { "application/json": { tools: { name: string }[] } } } } } };
  "/v1/sessions/{sessionId}": {
    get: {
      parameters: { path: { sessionId: string } };
      responses: {
        200: { content: { "application/json": { id: string; open: boolean } } };
        default: { content: { "application/problem+json": { code: string; hint?: string } } };
      };
    };
  };
}

test("issue 19.1 openapi-fetch calls the server with types from the served document", async () => {
  const api = await startApi();
  const client = createFetchClient<Paths>({ baseUrl: api.url, headers: { authorization: `Bearer ${TOKEN}` } });
  const { data } = await client.GET("/v1/tools");
  expect(data?.tools.map(({ name }) => name)).toContain("notes::add");
  const { error, response } = await client.GET("/v1/sessions/{sessionId}", { params: { path: { sessionId: "nowhere" } } });
  expect({ status: response.status, code: error?.code }).toEqual({ status: 404, code: "not_found" });
});

/** The generated client without types: a method for each of HTTP, a path of the document, and its parameters. */
type AnyMethod = (
  path: string,
  options: object,
) => Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

/** No generated client knows event streams and JSON lines: these bodies are passed through. */
const PASSED: Readonly<Record<string, object>> = {
  listEvents: { parseAs: "stream" },
  exportRecording: { parseAs: "text" },
  getMetrics: { parseAs: "text" },
};

test("issue 19.1 each operation can be called through openapi-fetch, and its status matches the document", async () => {
  const api = await startApi({ auth: await authWithKeys() });
  const facts = await setTheScene(api);
  const client = createFetchClient<Record<string, Record<string, never>>>({
    baseUrl: api.url,
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const methods = client as unknown as Readonly<Record<string, AnyMethod>>; // its types are those of one document
  const called: string[] = [];
  for (const operationId of OPERATION_IDS) {
    const { method, path, example, status, bodyType, mayTakeLong }: Route = API[operationId];
    const pathValues = Object.entries(example.params ?? {}).map(([name, value]) => [name, valueOf(facts, operationId, name, value)]);
    const text = JSON.stringify(example.body ?? null).replaceAll("0000", facts.digest);
    const body = bodyType === undefined ? { body: JSON.parse(text) ?? undefined } : recordingBody(facts.recording);
    const params = { path: Object.fromEntries(pathValues), query: example.query };
    const { data, error, response } = (await methods[method]?.(path, { params, ...body, ...PASSED[operationId] })) ?? expect.fail(method);
    const accepted = [status ?? 200, MAY_BE_GONE[operationId], ...(mayTakeLong === true ? [202] : [])];
    expect({ operationId, error: accepted.includes(response.status) ? undefined : error }).toEqual({ operationId, error: undefined });
    expect(accepted).toContain(response.status);
    if (status !== 204 && response.ok) expect({ operationId, isThere: data !== undefined }).toEqual({ operationId, isThere: true });
    if (data instanceof ReadableStream) await data.cancel();
    called.push(operationId);
  }
  expect(called).toEqual(OPERATION_IDS);
});

function recordingBody(recording: string): object {
  return { body: recording, bodySerializer: (text: string) => text, headers: { "content-type": "application/jsonl" } };
}

testInCI("issue 19.1 openapi-typescript generates types from the served document, and a program with them compiles", async () => {
  const api = await startApi();
  const { text } = await api.ask("GET", "/openapi.json");
  const folder = await mkdtemp(join(import.meta.dirname, "generated-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "openapi.json"), text);
  const generate = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => next(name === "typescript" ? "typescript-6" : name, context) });
    const { default: openapiTS, astToString } = await import("openapi-typescript");
    const { readFileSync, writeFileSync } = await import("node:fs");
    writeFileSync("paths.ts", astToString(await openapiTS(readFileSync("openapi.json", "utf8"))));`;
  await writeFile(join(folder, "generate.mjs"), generate);
  await writeFile(join(folder, "program.ts"), PROGRAM);
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        module: "nodenext",
        target: "es2024",
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        types: [],
      },
      include: ["program.ts"],
    }),
  );
  const made = spawnSync(process.execPath, ["generate.mjs"], { cwd: folder, encoding: "utf8" });
  expect(made.stderr).toBe("");
  const checked = spawnSync(process.execPath, [join(import.meta.dirname, "../../../node_modules/typescript-6/bin/tsc"), "-p", "."], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(checked.stdout).toBe("");
});

const PROGRAM = `
import createClient from "openapi-fetch";
import type { paths } from "./paths.ts";
const client = createClient<paths>({ baseUrl: "http://localhost" });
const { data } = await client.POST("/v1/execute", { body: { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] } });
const status: string | undefined = data !== undefined && "results" in data ? data.results[0]?.status : undefined;
await client.POST("/v1/sessions", { body: { from: { haft: "snapshot" } } });
const made = await client.POST("/v1/sessions/{sessionId}/keys", { params: { path: { sessionId: "s" } }, body: { name: "page", scopes: ["read"] } });
const key: string | undefined = made.data?.key;
// @ts-expect-error a session key is never one of an administrator
await client.POST("/v1/sessions/{sessionId}/keys", { params: { path: { sessionId: "s" } }, body: { name: "page", scopes: ["admin"] } });
// @ts-expect-error a field of another type than in the document
await client.POST("/v1/execute", { body: { calls: "all" } });
export { key, status };
`;
