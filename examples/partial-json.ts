/** Parses JSON that is still streaming, and JSON that a model wrote with mistakes. */
import { PartialJson, mendJsonText } from "haft/wire";

const written = new PartialJson();
for (const piece of ['{"to":"ada@exa', 'mple.org","cop', 'ies":2', ',"body":"The par', 'ty is off."}']) {
  written.push(piece);
  console.log(JSON.stringify(written.value));
}
console.log("whole:", written.complete);

const said = "Here you are:\n```json\n{name: 'Ada', langs: ['en', 'it',], // two\n age: 36\n```";
console.log("meant:", JSON.stringify(mendJsonText(said)));

/* Prints:
{"to":"ada@exa"}
{"to":"ada@example.org"}
{"to":"ada@example.org"}
{"to":"ada@example.org","copies":2,"body":"The par"}
{"to":"ada@example.org","copies":2,"body":"The party is off."}
whole: true
meant: {"name":"Ada","langs":["en","it"],"age":36}
*/
