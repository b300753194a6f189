/** The bytes of artifacts over HTTP: whole, in ranges, and not again to a client that has them. */
import { expect, test } from "vitest";
import { artifactOf } from "../../../src/core/artifact.ts";
import { TOKEN, startApi } from "./api-server.ts";

const PAGE = "<script>alert(1)</script>\n";
const TEXT = PAGE.repeat(40);
const SIZE = TEXT.length;

const OF_CONNECTION: ReadonlySet<string> = new Set(["connection", "date", "keep-alive"]);

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function openArtifact(text = TEXT) {
  const api = await startApi();
  const artifact = artifactOf("text/html", Buffer.from(text));
  await api.runtime.artifacts?.put({ artifact, at: 1 });
  const path = `/v1/artifacts/${artifact.id}`;
  const get = async (headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Got> => {
    // "identity": the platform's fetch would ask for compressed bytes, and not for a range of them
    const sent = { authorization: `Bearer ${TOKEN}`, accept: "application/octet-stream", "accept-encoding": "identity", ...headers };
    const response = await fetch(`${api.url}${path}`, { method, headers: sent });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { api, artifact, path, get, tag: `"${artifact.id}"` };
}

test("the bytes are downloaded, and no browser runs them", async () => {
  const { artifact, get, tag } = await openArtifact();
  const { status, headers, text } = await get();
  const expected = {
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
    "content-disposition": `attachment; filename="${artifact.id}"`,
    "content-length": String(SIZE),
    "content-security-policy": "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "content-type": "application/octet-stream",
    etag: tag,
    vary: "accept",
    "x-content-type-options": "nosniff",
  };
  expect([status, text, Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)]))]).toEqual([200, TEXT, expected]);
});

test("HEAD says what GET would, without the bytes, and has no ranges", async () => {
  const { get } = await openArtifact();
  const [head, whole] = [await get({ range: "bytes=0-9" }, "HEAD"), await get()];
  const said = ({ headers }: Got): object => Object.fromEntries([...headers].filter(([name]) => !OF_CONNECTION.has(name)));
  expect([head.status, head.text, said(head)]).toEqual([200, "", said(whole)]);
});

test.each([
  ["application/octet-stream", "bytes"],
  ["Application/Octet-Stream;q=0.5, application/json", "bytes"],
  ["application/json", "json"],
  ["*/*", "json"],
  ["application/octet-stream;q=0, */*", "json"],
  ["", "json"],
])("a client that accepts %j gets %s", async (accept, form) => {
  const { get, artifact } = await openArtifact();
  const { text } = await get({ accept });
  expect(form === "bytes" ? text : JSON.parse(text)).toEqual(form === "bytes" ? TEXT : artifact);
});

test.each([
  ["bytes=0-0", 0, 0],
  ["bytes=10-19", 10, 19],
  ["BYTES= 10-19 ", 10, 19],
  ["bytes=,10-19,", 10, 19],
  ["bytes=1000-", 1_000, SIZE - 1],
  [`bytes=${SIZE - 1}-`, SIZE - 1, SIZE - 1],
  ["bytes=5-99999999999999999999999", 5, SIZE - 1],
  ["bytes=-5", SIZE - 5, SIZE - 1],
  ["bytes=-99999999", 0, SIZE - 1],
])("the range %s is answered with these bytes alone", async (range, first, last) => {
  const { get, tag } = await openArtifact();
  const { status, headers, text } = await get({ range });
  expect([status, text, headers.get("content-range"), headers.get("content-length"), headers.get("etag")]).toEqual([
    206,
    TEXT.slice(first, last + 1),
    `bytes ${first}-${last}/${SIZE}`,
    String(last + 1 - first),
    tag,
  ]);
});

test.each(["bytes=0-1,5-6", "bytes=9-5", "bytes=-", "bytes=a-b", "bytes=1", "bytes", "lines=0-5", "bytes=0x1-5", "bytes=1-2=3"])(
  "the range %s is several or none, and gets the whole",
  async (range) => {
    const { get } = await openArtifact();
    const { status, headers, text } = await get({ range });
    expect([status, text, headers.get("content-range")]).toEqual([200, TEXT, null]);
  },
);

test.each([`bytes=${SIZE}-`, "bytes=99999999999999999999999-", "bytes=-0"])("the range %s begins after the end: 416", async (range) => {
  const { get } = await openArtifact();
  const { status, headers, text } = await get({ range });
  expect([status, headers.get("content-range"), headers.get("content-type")]).toEqual([416, `bytes */${SIZE}`, "application/problem+json"]);
  expect(text).not.toContain("<script>");
});

test("a file without bytes has no ranges", async () => {
  const { get } = await openArtifact("");
  expect([(await get()).status, (await get({ range: "bytes=0-" })).status]).toEqual([200, 416]);
});

test("If-Range continues the bytes that the client has, and begins again with others", async () => {
  const { get, tag } = await openArtifact();
  const statuses = [tag, '"other"', `W/${tag}`, "Tue, 01 Jan 2030 00:00:00 GMT"].map(
    async (ifRange) => (await get({ range: "bytes=100-", "if-range": ifRange })).status,
  );
  expect(await Promise.all(statuses)).toEqual([206, 200, 200, 200]);
});

test("a client that names the entity tag is told that it has the bytes, also before a range", async () => {
  const { get, tag } = await openArtifact();
  for (const ifNoneMatch of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
    const { status, headers, text } = await get({ "if-none-match": ifNoneMatch, range: "bytes=0-1" });
    expect([status, text, headers.get("etag")]).toEqual([304, "", tag]);
  }
  expect((await get({ "if-none-match": '"other"' })).status).toBe(200);
});

test("If-Match names the bytes that a client wants a part of", async () => {
  const { get, tag } = await openArtifact();
  const statuses = [tag, "*", '"other"', `W/${tag}`].map(
    async (ifMatch) => (await get({ range: "bytes=0-1", "if-match": ifMatch })).status,
  );
  expect(await Promise.all(statuses)).toEqual([206, 206, 412, 412]);
});

test("the bytes of every place in a file are those of the file, whatever they are", async () => {
  const api = await startApi();
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));
  const artifact = artifactOf("video/mp4", bytes);
  await api.runtime.artifacts?.put({ artifact, at: 1 });
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 30_001) {
    const headers = { authorization: `Bearer ${TOKEN}`, accept: "application/octet-stream", range: `bytes=${at}-${at + 30_000}` };
    parts.push(Buffer.from(await (await fetch(`${api.url}/v1/artifacts/${artifact.id}`, { headers })).arrayBuffer()));
  }
  expect(parts.map(({ length }) => length)).toEqual([30_001, 30_001, 9_998]);
  expect(Buffer.concat(parts).equals(bytes)).toBe(true);
});

test("no one reads bytes without a key, and a missing file is a problem", async () => {
  const { api, get, path } = await openArtifact();
  const accept = { accept: "application/octet-stream" };
  expect((await api.ask("GET", path, { token: null, headers: accept })).status).toBe(401);
  expect((await api.ask("GET", `/v1/artifacts/${"0".repeat(64)}`, { headers: accept })).json).toMatchObject({ code: "not_found" });
  expect((await get({ range: "bytes=0-1" }, "POST")).status).toBe(405);
});
