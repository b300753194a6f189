/** An HTTP API as a toolset, from its OpenAPI document: here the library of the demo, a real server on this machine. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime, resultText } from "haft";
import { openApiToolset } from "haft/rest";
import { openLibrary } from "./demo/library-server.ts";

const library = await openLibrary("card-4711");
const document = fileURLToPath(new URL("demo/library.yaml", import.meta.url));

const books = openApiToolset("library", { document, baseUrl: library.url, auth: { type: "bearer", token: "card-4711" } });
const runtime = createRuntime({ toolsets: [books] });
await runtime.open();
console.log(runtime.registry.names("library").join(", "));

const results = await runtime.execute([
  { name: "findBooks", input: { words: "programming" } },
  { name: "lendBook", input: { isbn: "0201896834", reader: "Ada" } },
  { name: "lendBook", input: { isbn: "0131103628", reader: "Ada", days: 7 } },
  { name: "lendBook", input: { isbn: "../../admin?", reader: "Ada" } },
]);
for (const result of results) console.log(result.name, resultText(result));

assert.deepEqual(
  results.map((result) => result.error?.message.slice(0, 8) ?? result.status),
  ["ok", "ok", "HTTP 409", "HTTP 404"],
);
await runtime.close();
library.close();

/* Prints:
library::findBooks, library::lendBook
library::findBooks [{"isbn":"0201896834","title":"The Art of Computer Programming","lent":false},{"isbn":"0131103628","title":"The C Programming Language","lent":true}]
library::lendBook {"isbn":"0201896834","reader":"Ada","days":14}
library::lendBook Error (execution_failed): HTTP 409: {"error":"The C Programming Language is lent to somebody else."}
library::lendBook Error (execution_failed): HTTP 404: {"error":"There is no such book."}
*/
