/** Uses an HTTP API as a toolset, from its OpenAPI document: a library of two books that this program serves. */
import { createServer } from "node:http";
import { createRuntime, resultText } from "haft";
import { openApiToolset } from "haft/rest";

const books = new Map([
  ["0201896834", { title: "The Art of Computer Programming", lent: false }],
  ["0131103628", { title: "The C Programming Language", lent: true }],
]);
function answer(method = "", path = ""): readonly [status: number, body: unknown] {
  if (method === "GET") return [200, [...books.values()]];
  const book = books.get(path.split("/")[2] ?? "");
  if (book === undefined) return [404, { error: "There is no such book." }];
  return book.lent ? [409, { error: `${book.title} is lent to somebody else.` }] : [200, { ...book, lent: true }];
}
const server = createServer((request, response) => {
  const allowed = request.headers.authorization === "Bearer card-4711";
  const [status, body] = allowed ? answer(request.method, request.url) : [401, { error: "Show your card." }];
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;

const document = {
  openapi: "3.1.0",
  info: { title: "Library", version: "1.0.0" },
  paths: {
    "/books": { get: { operationId: "findBooks", summary: "Lists the books.", responses: { 200: { description: "The books." } } } },
    "/books/{isbn}/loan": {
      put: {
        operationId: "lendBook",
        summary: "Lends a book.",
        parameters: [{ name: "isbn", in: "path", required: true, schema: { type: "string" } }],
        responses: { 200: { description: "The book." } },
      },
    },
  },
};

const runtime = createRuntime({
  toolsets: [openApiToolset("library", { document, baseUrl, auth: { type: "bearer", token: "card-4711" } })],
});
await runtime.open();
console.log(runtime.registry.names("library").join(", "));

const results = await runtime.execute([
  { name: "findBooks" },
  ...["0201896834", "0131103628", "../../admin?"].map((isbn) => ({ name: "lendBook", input: { isbn } })),
]);
for (const result of results) console.log(result.name, resultText(result));
await runtime.close();
server.close();

/* Prints:
library::findBooks, library::lendBook
library::findBooks [{"title":"The Art of Computer Programming","lent":false},{"title":"The C Programming Language","lent":true}]
library::lendBook {"title":"The Art of Computer Programming","lent":true}
library::lendBook Error (execution_failed): HTTP 409: {"error":"The C Programming Language is lent to somebody else."}
library::lendBook Error (execution_failed): HTTP 404: {"error":"There is no such book."}
*/
