/** Real pages of a real server on loopback; no address outside of this machine is reached. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { deflateSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { resultText } from "../../src/core/result.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { convertDocument } from "../../src/toolsets/convert/convert-document.ts";
import { webToolset } from "../../src/toolsets/web.ts";
import { testInCI } from "../test-in-ci.ts";
import { pdfOf, pdfOfObjects } from "./pdf-document.ts";
import type { WebOptions } from "../../src/toolsets/web/web-options.ts";

const PAGE = `<!doctype html><html><head><title>Ferries</title><script>document.title = "ran"</script></head><body><nav>Home | About</nav>
<article><h1>Timetable</h1><p>The ferry to Askøy leaves every hour, and on Sundays every second hour. Bring your ticket.</p>
<table><tr><th>From</th><th>At</th></tr><tr><td>Bergen</td><td>10:00</td></tr></table><p><a href="/map">The map of all quays</a> shows where they are.</p></article></body></html>`;

interface Asked {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

async function bench(respond: Respond, options: (address: string) => WebOptions = () => ({}), timeoutMs: number = 20_000) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      asked.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      respond(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  const runtime = createRuntime({
    maxAttempts: 1,
    timeoutMs,
    toolsets: [webToolset({ allowPrivate: [host], ...options(`http://${host}`) })],
  });
  onTestFinished(async () => {
    await runtime.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await runtime.open();
  const fetchPage = async (path: string, more: object = {}) =>
    runtime.execute({ name: "web_fetch", input: { url: `http://${host}${path}`, ...more } });
  return { runtime, asked, host, fetchPage };
}

const send =
  (type: string, body: string | Uint8Array, status = 200): Respond =>
  (_request, response) =>
    void response.writeHead(status, { "content-type": type }).end(body);

describe("F1.69 web_fetch", { timeout: 240_000 }, () => {
  test("F1.69 returns a page as Markdown with its title, tables and absolute links, without menus, and runs no script", async () => {
    const { fetchPage, host } = await bench(send("text/html; charset=utf-8", PAGE));
    const result = await fetchPage("/ferries");
    expect(result.status, JSON.stringify(result.error)).toBe("ok");
    const text = resultText(result);
    expect(text).toMatch(new RegExp(`^Ferries\\nhttp://${host}/ferries\\n\\n`, "u"));
    expect(text).toContain("| Bergen | 10:00 |");
    expect(text).toContain(`[The map of all quays](http://${host}/map)`);
    expect(text).not.toMatch(/Home \| About|ran/u);
  });

  test.each([
    ["nothing", "", "(no text)"],
    ["a doctype alone", "<!doctype html>\n", "(no text)"],
    ["a comment alone", "<!-- empty -->", "(no text)"],
    ["text alone", "The ferry leaves.", "The ferry leaves."],
    ["a paragraph without a body", "<!doctype html><p>The ferry leaves.</p>", "The ferry leaves."],
    ["a head and no body", "<html><head><title>Ferries</title></head ><p>The ferry leaves.</p>", "The ferry leaves."],
  ])("F1.69 reads a page that is %s", async (_what, html, text) => {
    const { fetchPage } = await bench(send("text/html", html));
    const result = await fetchPage("/");
    expect(resultText(result), JSON.stringify(result.error)).toMatch(new RegExp(`\n\n${text.replaceAll(/[().]/gu, "\\$&")}$`, "u"));
  });

  test("F1.69 returns the text of a PDF document page by page", async () => {
    const { fetchPage } = await bench(send("application/pdf", pdfOf("Ferries of May")));
    const result = await fetchPage("/f.pdf");
    expect(resultText(result), JSON.stringify(result.error)).toMatch(/--- page 1 of 1 ---\nFerries of May$/u);
  });

  test("F1.69 returns other text unchanged and in parts; a part that is cut says where to continue", async () => {
    const { fetchPage } = await bench(send("text/plain", "0123456789"));
    expect(resultText(await fetchPage("/t", { maxChars: 4 }))).toMatch(/\n\n0123\n\n\(6 more characters; continue with from: 4\)$/u);
    expect(resultText(await fetchPage("/t", { from: 8 }))).toMatch(/\n\n89$/u);
    expect(resultText(await fetchPage("/t", { from: 10 }))).toMatch(/\n\n\(no text from there on: it has 10 characters\)$/u);
  });

  test("F1.69 ends a part after a whole character, never in the middle of one", async () => {
    const { fetchPage } = await bench(send("text/plain; charset=utf-8", "😀😀a😀"));
    const read: unknown[] = [];
    for (let from = 0; from < 7;) {
      const { output } = await fetchPage("/t", { from, maxChars: 1 });
      const { text } = output as { text: string }; // as its output schema says
      read.push(text);
      from += text.length;
    }
    expect(read).toEqual(["😀", "😀", "a", "😀"]);
    expect(resultText(await fetchPage("/t", { maxChars: 3 }))).toMatch(/😀😀\n\n\(3 more characters; continue with from: 4\)$/u);
  });

  test("F1.69 starts a part with a whole character when it is asked to start in the middle of one", async () => {
    const { fetchPage } = await bench(send("text/plain; charset=utf-8", "😀😀a😀"));
    expect(resultText(await fetchPage("/t", { from: 3, maxChars: 1 }))).toMatch(/\n\n😀\n\n\(3 more characters; continue with from: 4\)$/u);
    expect((await fetchPage("/t", { from: 6 })).output).toMatchObject({ text: "😀", from: 5, length: 7 });
    expect((await fetchPage("/t", { from: 7 })).output).toMatchObject({ text: "", from: 7 });
  });

  const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const PNG = Buffer.from(PIXEL, "base64");

  test("F1.69 returns an image as an image part; a type without text is rejected", async () => {
    const { fetchPage } = await bench((request, response) =>
      send(request.url === "/i" ? "image/png" : "application/zip", PNG)(request, response),
    );
    expect((await fetchPage("/i")).content?.at(-1)).toEqual({ type: "image", mediaType: "image/png", data: PIXEL });
    expect((await fetchPage("/z")).error).toMatchObject({
      code: "execution_failed",
      message: expect.stringMatching(/cannot be shown as text: it is application\/zip/u),
    });
  });

  test("F1.69 a page whose conversion takes too long ends with an error, and is not tried again", async () => {
    const bytes = new TextEncoder().encode("<b>".repeat(50_000));
    const job = { kind: "html", bytes, url: "https://a.example/" } as const;
    await expect(convertDocument(job, new AbortController().signal, 300)).rejects.toMatchObject({
      code: "execution_failed",
      retryable: false,
      message: "The page cannot be converted: it took more than 0.3 s.",
    });
  });

  test("F1.69 the title of a page, and each part of a search result, is shown in one line", async () => {
    const search = () =>
      Promise.resolve([{ title: "A\n\nB\nhttps://b.example/", url: "https://a.example/", snippet: "one\n\nC\nhttps://c.example/" }]);
    const { runtime, fetchPage, host } = await bench(
      send("text/html", "<title>A\n\nhttps://a.example/\n\nB</title><p>The text of this page.</p>"),
      () => ({ search }),
    );
    expect(
      resultText(await fetchPage("/"))
        .split("\n")
        .slice(0, 3),
    ).toEqual(["A https://a.example/ B", `http://${host}/`, ""]);
    expect((await runtime.execute({ name: "web_search", input: { query: "x" } })).output).toBe(
      "A B https://b.example/\nhttps://a.example/\none C https://c.example/",
    );
  });

  test.each([204, 205])("F1.69 a response with the status %i has no text", async (status) => {
    const { fetchPage, host } = await bench((_request, response) => void response.writeHead(status).end());
    expect(resultText(await fetchPage("/"))).toBe(`http://${host}/\n\n(no text)`);
  });

  test("F1.69 detects the type of an image that is sent with the wrong type", async () => {
    const { fetchPage } = await bench(send("image/jpeg", PNG));
    expect(await fetchPage("/i")).toMatchObject({
      output: { mediaType: "image/png", bytes: PNG.length },
      content: [{ type: "text" }, { type: "image", mediaType: "image/png", data: PIXEL }],
    });
  });

  test.each([
    ["a page", Buffer.from("<h1>Log in</h1>"), "execution_failed", /it is sent as image\/png, but is not an image\.$/u],
    ["nothing", Buffer.alloc(0), "execution_failed", /but is not an image\.$/u],
    ["one that is cut off", PNG.subarray(0, -12), "execution_failed", /: the image is damaged or incomplete\.$/u],
    ["more than providers take", Buffer.concat([PNG, Buffer.alloc(3_500_000)]), "too_large", /at most 3500000 are shown\.$/u],
  ])(
    "F1.69 %s that is sent as image/png is rejected, as providers would reject every later request with it",
    async (_what, body, code, message) => {
      const { fetchPage } = await bench(send("image/png", body));
      const { content, error } = await fetchPage("/i");
      expect([content, error]).toEqual([undefined, expect.objectContaining({ code, message: expect.stringMatching(message) })]);
    },
  );

  test.each([
    "<script>var tag = '<body>';</script>",
    "<script>var tag = '</head>';</script>",
    "<!-- <body> -->",
    "<!--><p>First.<!-- </head> -->",
  ])("F1.69 returns the text of a page without <body>, also when %s only looks like a tag", async (part) => {
    const { fetchPage } = await bench(send("text/html", Buffer.from(`<!doctype html><title>Hours</title>${part}<p>Open until five.</p>`)));
    expect(resultText(await fetchPage("/"))).toContain("Open until five.");
  });

  test.each([
    ["text/html", '<meta charset="windows-1251">', [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2], "Привет"],
    ["text/html", '<META http-equiv="Content-Type" content="text/html; charset=Shift_JIS">', [0x93, 0xfa, 0x96, 0x7b], "日本"],
    ["text/html; charset=utf-8", '<meta charset="windows-1251">', [...Buffer.from("日本")], "日本"],
    ["text/html; charset=", "", [...Buffer.from("日本")], "日本"],
    ["text/html; charset=of-none", '<meta charset="windows-1251">', [0xcf, 0xf0], "Пр"],
    ["text/html", '<meta charset="of-none">', [...Buffer.from("日本")], "日本"],
    ["application/xhtml+xml", '<?xml version="1.0" encoding="iso-8859-2"?>', [0xb1, 0xe6], "ąć"],
  ])("F1.69 decodes a page of the type %s with %s in its encoding", async (type, head, bytes, text) => {
    const isProlog = head.startsWith("<?");
    const before = isProlog ? `${head}<html><head></head><body><p>` : `<html><head>${head}</head><body><p>`;
    const { fetchPage } = await bench(
      send(type, Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from("</p></body></html>")])),
    );
    const result = await fetchPage("/");
    expect(resultText(result), JSON.stringify(result.error)).toContain(text);
  });

  test("F1.69 a byte order mark takes precedence over the encoding in the content type", async () => {
    const { fetchPage } = await bench(send("text/plain; charset=iso-8859-1", "\ufeff日本"));
    expect(resultText(await fetchPage("/t"))).toMatch(/\n\n日本$/u);
  });

  test.each([
    ["a private address", "http://127.0.0.1:9/", "permission_denied"],
    ["the metadata service", "http://169.254.169.254/latest", "permission_denied"],
    ["a name that means this machine", "http://localhost:9/", "permission_denied"],
    ["another scheme", "file:///etc/passwd", "invalid_input"],
    ["no address", "example", "invalid_input"],
  ])("F1.69 %s is rejected and no request is sent", async (_what, url, code) => {
    const { runtime, asked } = await bench(send("text/plain", "secret"));
    expect((await runtime.execute({ name: "web_fetch", input: { url } })).error?.code).toBe(code);
    expect(asked).toEqual([]);
  });

  test("F1.69 a redirect to a private address is rejected", async () => {
    const { fetchPage } = await bench(
      (_request, response) => void response.writeHead(302, { location: "http://127.0.0.1:9/secret" }).end(),
    );
    expect((await fetchPage("/")).error?.code).toBe("permission_denied");
  });

  test("F1.69 a site that is down does not keep a model from the others", async () => {
    const { fetchPage } = await bench((request, response) => {
      if (request.url === "/down") response.writeHead(503).end();
      else send("text/plain", "Here.")(request, response);
    });
    for (let n = 0; n < 8; n++) expect((await fetchPage("/down")).error?.code).not.toBe("circuit_open");
    expect(resultText(await fetchPage("/"))).toContain("Here.");
  });

  test("F1.69 a status that is not 2xx is an error with the status; a body over maxBytes is rejected", async () => {
    const { fetchPage } = await bench(send("text/html", "<p>gone", 410));
    expect((await fetchPage("/")).error).toMatchObject({ code: "execution_failed", message: expect.stringMatching(/^HTTP 410: /u) });
    const small = await bench(send("text/plain", "x".repeat(2_000)), () => ({ maxBytes: 1_000 }));
    expect((await small.fetchPage("/")).error?.code).toBe("too_large");
  });

  test("the values of PDF form fields follow the text of their page, and a page without text or fields says so", async () => {
    const page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792]";
    const field = (at: number, rest: string): string => `<< /Type /Annot /Subtype /Widget /Rect [0 ${at} 99 ${at + 9}] ${rest} >>`;
    const more = [
      `${page} /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Annots [8 0 R 9 0 R 10 0 R] >>`,
      `${page} >>`,
      field(9, "/FT /Tx /T (name) /V (Ada Lovelace)"),
      field(19, "/FT /Btn /T (member) /V /Off"),
      field(29, "/FT /Ch /T (colours) /V [(red) (green)] /Opt [(red) (green) (blue)]"),
    ];
    const { fetchPage } = await bench(send("application/pdf", pdfOfObjects(streamOf(HELLO), { kids: "6 0 R 7 0 R", more })));
    const text = resultText(await fetchPage("/f.pdf"));
    expect(text).toContain(
      "\n[field name: Ada Lovelace]\n[field colours: red, green]\n\n--- page 2 of 2 ---\n(no text on this page; it may be an image)",
    );
    expect(text).not.toContain("member");
  });

  test("a PDF document that needs a password is an error that says so", async () => {
    const more = [`<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${"11".repeat(32)}> /U <${"22".repeat(32)}> >>`];
    const file = Buffer.from(pdfOfObjects(streamOf(HELLO), { more })).toString("latin1");
    const locked = Buffer.from(file.replace("trailer <<", "trailer << /Encrypt 6 0 R /ID [<00> <00>]"), "latin1");
    const { fetchPage } = await bench(send("application/pdf", locked));
    expect((await fetchPage("/")).error?.message).toBe(
      "The PDF document cannot be converted: it is encrypted, and only opens with a password. Ask the user for a copy without one.",
    );
  });

  test("F1.69 a damaged PDF document is an error", async () => {
    const { fetchPage } = await bench(send("application/pdf", "%PDF-1.4 nonsense"));
    expect((await fetchPage("/")).error?.message).toMatch(/^The PDF document cannot be converted: /u);
  });

  const streamOf = (bytes: Uint8Array, filter = "") =>
    `<< /Length ${bytes.length} ${filter} >>\nstream\n${Buffer.from(bytes).toString("latin1")}\nendstream`;
  const HELLO = Buffer.from("BT /F1 24 Tf 72 720 Td (Hello) Tj ET");
  const TWICE = "/Filter [/FlateDecode /FlateDecode]";

  test("F1.69 a damaged page of a PDF document is reported, and the other pages are read", async () => {
    const { fetchPage } = await bench(send("application/pdf", pdfOfObjects(streamOf(HELLO), { kids: "3 0 R 99 0 R" })));
    expect(resultText(await fetchPage("/"))).toMatch(/page 1 of 2 ---\nHello\n\n--- page 2 of 2 ---\n\(this page cannot be read: .*\)$/u);
  });

  test("F1.69 a PDF document that needs a missing character map says so", async () => {
    const font = "<< /Type /Font /Subtype /Type0 /BaseFont /SimSun /Encoding /UniGB-UCS2-H /DescendantFonts [6 0 R] >>";
    const more = [
      "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /SimSun /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>",
    ];
    const content = streamOf(Buffer.from("BT /F1 24 Tf 72 720 Td <4f60597d> Tj ET"));
    const { fetchPage } = await bench(send("application/pdf", pdfOfObjects(content, { font, more })));
    expect(resultText(await fetchPage("/"))).toContain(
      "(text is missing: the character maps UniGB-UCS2-H of the package pdfjs-dist are not installed",
    );
  });

  test("F1.69 a PDF stream that is compressed twice is read", async () => {
    const { fetchPage } = await bench(send("application/pdf", pdfOfObjects(streamOf(deflateSync(deflateSync(HELLO)), TWICE))));
    expect(resultText(await fetchPage("/"))).toMatch(/\nHello$/u);
  });

  testInCI("F1.69 a few kilobytes of PDF that decompress to over half a gigabyte are refused", async () => {
    const bomb = deflateSync(deflateSync(Buffer.alloc(600_000_000, " ")));
    expect(bomb.length).toBeLessThan(10_000);
    const { fetchPage } = await bench(send("application/pdf", pdfOfObjects(streamOf(bomb, TWICE))));
    expect((await fetchPage("/")).error?.message).toBe("The PDF document cannot be converted: it unpacks to more than 512 MB.");
  });

  testInCI("F1.69 200,000 nested elements end in an error or a text, while the event loop keeps running", async () => {
    const deep = await bench(send("text/html", `${"<div>".repeat(200_000)}deep`), undefined, 3_000); // it takes longer than any timeout
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    const result = await deep.fetchPage("/");
    clearInterval(timer);
    expect(["ok", "error"]).toContain(result.status);
    expect(turns).toBeGreaterThan(5);
  });
});

describe("F1.69 web_search", () => {
  const entry = {
    title: "Ferries",
    url: "https://ferries.example/",
    description: "When they leave.",
    content: "When they leave.",
    text: "When they leave.",
  };
  const FOUND = "Ferries\nhttps://ferries.example/\nWhen they leave.";

  test.each([
    [
      "brave",
      { web: { results: [entry] } },
      "GET /res/v1/web/search?q=ferry+%26+bus&count=3&text_decorations=false",
      "x-subscription-token",
      "",
    ],
    ["tavily", { results: [entry] }, "POST /search", "authorization", '{"query":"ferry & bus","max_results":3}'],
    [
      "exa",
      { results: [entry] },
      "POST /search",
      "x-api-key",
      '{"query":"ferry & bus","numResults":3,"contents":{"text":{"maxCharacters":500}}}',
    ],
    ["searxng", { results: [entry] }, "GET /search?q=ferry+%26+bus&format=json", undefined, ""],
  ] as const)(
    "F1.69 %s gets a request in its own format, with its key, and its results are read",
    async (provider, answer, line, header, body) => {
      const { runtime, asked } = await bench(send("application/json", JSON.stringify(answer)), (url) => ({
        search: { provider, url, ...(header === undefined ? {} : { apiKey: "k-123" }) },
      }));
      expect((await runtime.execute({ name: "web_search", input: { query: "ferry & bus", count: 3 } })).output).toBe(FOUND);
      expect(asked).toMatchObject([{ line, body }]);
      if (header !== undefined) expect(asked[0]?.headers[header]).toMatch(/k-123$/u);
    },
  );

  test("F1.69 an answer of another shape is an error, an empty one says that nothing was found, and an error hides the key", async () => {
    const odd = await bench(send("application/json", "[]"), (url) => ({ search: { provider: "searxng", url } }));
    expect((await odd.runtime.execute({ name: "web_search", input: { query: "x" } })).error?.message).toBe(
      "The search searxng answered without a list of results.",
    );
    const none = await bench(send("application/json", "{}"), (url) => ({ search: { provider: "brave", apiKey: "k", url } }));
    expect((await none.runtime.execute({ name: "web_search", input: { query: "x" } })).output).toBe('Nothing was found for "x".');
    const denied = await bench(send("application/json", "{}", 401), (url) => ({ search: { provider: "tavily", apiKey: "k-secret", url } }));
    expect(JSON.stringify(await denied.runtime.execute({ name: "web_search", input: { query: "x" } }))).not.toContain("k-secret");
  });

  test.each([
    ["a page in place of JSON", "<html>Are you a robot?</html>", "execution_failed"],
    ["nothing", "", "execution_failed"],
    ["a key twice", '{"results":[],"results":[]}', "execution_failed"],
    ["no results, as its engines did not answer", '{"results":[],"unresponsive_engines":[["bing","CAPTCHA"]]}', "unavailable"],
  ])("F1.69 an answer that is %s is an error of the search, not of the query", async (_what, body, code) => {
    const { runtime } = await bench(send("application/json", body), (url) => ({ search: { provider: "searxng", url } }));
    expect((await runtime.execute({ name: "web_search", input: { query: "x" } })).error).toMatchObject({ code, outcome: "failed" });
  });

  test("F1.69 a number beyond safe integers in an answer does not lose its results", async () => {
    const body = `{"number_of_results":12345678901234567890,"results":${JSON.stringify([entry])}}`;
    const { runtime } = await bench(send("application/json", body), (url) => ({ search: { provider: "searxng", url } }));
    expect((await runtime.execute({ name: "web_search", input: { query: "x" } })).output).toBe(FOUND);
  });

  test("F1.69 the HTML in results of brave is converted to text", async () => {
    const results = [
      {
        title: "Tom &amp; Jerry",
        url: "https://a.example/",
        description: "It isn&#x27;t <strong>one</strong> &lt;b&gt; &amp;lt; &#1114112;",
      },
    ];
    const { runtime } = await bench(send("application/json", JSON.stringify({ web: { results } })), (url) => ({
      search: { provider: "brave", apiKey: "k", url },
    }));
    expect((await runtime.execute({ name: "web_search", input: { query: "x" } })).output).toBe(
      "Tom & Jerry\nhttps://a.example/\nIt isn't one <b> &lt; &#1114112;",
    );
  });

  test("F1.69 the search key is redacted if the provider repeats it in an error or in results", async () => {
    const key = "key-of-the-search-1";
    for (const status of [400, 401, 200]) {
      const said = JSON.stringify({ error: `Wrong key ${key}`, results: [{ ...entry, title: `Yours: ${key}` }] });
      const { runtime, asked } = await bench(send("application/json", said, status), (url) => ({
        search: { provider: "tavily", apiKey: key, url },
      }));
      const result = await runtime.execute({ name: "web_search", input: { query: "x" } });
      expect(asked).toHaveLength(1);
      expect(JSON.stringify(result)).not.toContain(key);
    }
  });

  test("F1.69 a search server at a private address is queried, but web_fetch cannot read from it", async () => {
    const { runtime, asked, fetchPage } = await bench(send("application/json", JSON.stringify({ results: [entry] })), (url) => ({
      allowPrivate: [],
      search: { provider: "searxng", url },
    }));
    expect((await runtime.execute({ name: "web_search", input: { query: "x" } })).output).toBe(FOUND);
    expect((await fetchPage("/config")).error?.code).toBe("permission_denied");
    expect(asked).toHaveLength(1);
  });

  test("F1.69 a function of the program can be the search; without a search there is no web_search tool", async () => {
    const search = (query: string) => Promise.resolve([{ title: query, url: "https://a.example/", snippet: "" }]);
    const { runtime } = await bench(send("text/plain", ""), () => ({ search }));
    expect((await runtime.execute({ name: "web_search", input: { query: "x" } })).output).toBe("x\nhttps://a.example/");
    const of = async (found: unknown) => {
      const own = await bench(send("text/plain", ""), () => ({ search: () => Promise.resolve(found as never) }));
      return own.runtime.execute({ name: "web_search", input: { query: "x" } });
    };
    expect((await of([{ url: "https://a.example/" }])).output).toBe("https://a.example/");
    expect((await of([null, { title: 1, url: "https://a.example/", snippet: {} }, {}])).output).toBe("https://a.example/");
    expect((await of([])).output).toBe('Nothing was found for "x".');
    for (const broken of [[null], [{ title: "a", link: "https://a.example/" }]])
      expect((await of(broken)).error?.message).toBe("The search of the program answered with results that have no url.");
    expect((await of(undefined)).error).toMatchObject({
      code: "execution_failed",
      message: expect.stringContaining("without a list of results"),
    });
    const bare = await bench(send("text/plain", ""));
    expect(bare.runtime.registry.has("web::web_search")).toBe(false);
  });

  test.each([
    [{ provider: "bravo" }, 'The search provider "bravo" is unknown.'],
    [{ provider: "brave" }, "The search provider brave needs an apiKey."],
    [{ provider: "searxng" }, "The search provider searxng needs the url of its server."],
    [
      { provider: "searxng", url: "http://bob:pw@a" },
      "The url of the search has a user name, password, query or fragment, which is not supported.",
    ],
    [
      { provider: "searxng", url: "http://a?x=1" },
      "The url of the search has a user name, password, query or fragment, which is not supported.",
    ],
    [{ provider: "searxng", url: "ftp://a" }, 'The url "ftp://a" of the search is not an http or https address.'],
  ])("F1.69 invalid search options throw when the toolset is created: %j", (search, message) => {
    expect(() => webToolset({ search: search as never })).toThrow(message);
  });
});
