/** The library behind `library.yaml`: a real HTTP server on this machine that requires a token. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

interface Book {
  readonly isbn: string;
  readonly title: string;
  lent: boolean;
}

export interface Library {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
  close(): void;
}

/** Serves until it is closed. Requests without the token are refused. */
export async function openLibrary(token: string): Promise<Library> {
  const books: readonly Book[] = [
    { isbn: "0201896834", title: "The Art of Computer Programming", lent: false },
    { isbn: "0131103628", title: "The C Programming Language", lent: true },
    { isbn: "0262510871", title: "Structure and Interpretation of Computer Programs", lent: false },
  ];
  const server = createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) return reply(response, 401, { error: "Show your library card." });
    void answer(request, response, books);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The library has no port.");
  return { url: `http://127.0.0.1:${address.port}`, close: () => void server.close() };
}

async function answer(request: IncomingMessage, response: ServerResponse, books: readonly Book[]): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://library");
  if (request.method === "GET" && pathname === "/books") {
    const words = (searchParams.get("words") ?? "").toLowerCase();
    const found = books.filter((book) => book.title.toLowerCase().includes(words));
    return reply(response, 200, found.slice(0, Number(searchParams.get("limit") ?? 10)));
  }
  const isbn = /^\/books\/([^/]+)\/loans$/u.exec(pathname)?.[1];
  const book = books.find((one) => one.isbn === isbn);
  if (request.method !== "POST" || book === undefined) return reply(response, 404, { error: "There is no such book." });
  if (book.lent) return reply(response, 409, { error: `${book.title} is lent to somebody else.` });
  const { reader, days = 14 } = JSON.parse(await text(request));
  book.lent = true;
  return reply(response, 201, { isbn: book.isbn, reader, days });
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
