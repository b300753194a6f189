/** The thread that turns pages and PDF documents into text: a hostile one cannot hold up or exhaust the program. */
import { parentPort, workerData } from "node:worker_threads";
import type { ConvertAnswer, ConvertJob } from "./convert-document.ts";

/** Comments, and elements whose text is no HTML: what looks like a tag there is none. */
const NO_TAGS = /<!--(?:-?>|[^]*?(?:-->|$))|<(script|style|title|textarea)\b[^]*?(?:<\/\1\s*>|$)/giu;

// No converter has a reason to reach the network, and the address guard does not hold in here.
globalThis.fetch = () => Promise.reject(new Error("A converter may not use the network."));

try {
  answer(await convert(workerData as ConvertJob)); // made by convertDocument()
} catch (thrown: unknown) {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ERR_MODULE_NOT_FOUND";
  answer({ error: message.slice(0, 500), isMissing });
}

function answer(value: ConvertAnswer): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(value);
}

async function convert({ kind, bytes, url }: ConvertJob): Promise<ConvertAnswer> {
  return kind === "pdf" ? convertPdf(bytes) : convertPage(new TextDecoder().decode(bytes), url);
}

async function convertPage(html: string, url: string | undefined): Promise<ConvertAnswer> {
  const { Defuddle } = await import("defuddle/node");
  const { title, content } = await Defuddle(withBody(html), url, { markdown: true, useAsync: false });
  return { text: content, title };
}

/** The tag `<body>` may be left out, as may `<html>`; the parser finds no text without it, and fails where there is no element. */
function withBody(html: string): string {
  const tags = html.replaceAll(NO_TAGS, (part) => " ".repeat(part.length));
  if (/<(?:body|frameset)[\s>]/iu.test(tags)) return html;
  const head = /<\/head\s*>/iu.exec(tags);
  if (head === null) return `<html><body>${html}`;
  const end = head.index + head[0].length;
  return `${html.slice(0, end)}<body>${html.slice(end)}`;
}

async function convertPdf(bytes: Uint8Array): Promise<ConvertAnswer> {
  const { extractText, getDocumentProxy } = await import("unpdf");
  const document = await getDocumentProxy(new Uint8Array(bytes));
  const { text, totalPages } = await extractText(document, { mergePages: false });
  return { text: text.map((page, at) => `--- page ${at + 1} of ${totalPages} ---\n${page.trim()}`).join("\n\n"), title: undefined };
}
