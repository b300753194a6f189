/** Permission rules by tool name: some tools may be called, some need approval, and some are denied. */
import { createRuntime, defineTool, pure } from "haft";

const names = ["read", "send", "delete"];
const mail = {
  name: "mail",
  tools: names.map((name) => defineTool({ name, description: `Can ${name} mail.`, effects: pure, execute: () => `${name} done` })),
};

const runtime = createRuntime({
  toolsets: [mail],
  permission: { allow: ["mail::*"], deny: ["*::delete"] },
  approval: { always: ["mail::send"], approve: () => "allow-always" },
});
for (const result of await runtime.execute(names.map((name) => ({ name: `mail::${name}` })))) {
  console.log(result.name, result.output ?? result.error?.operatorHint);
}
await runtime.close();

/* Prints:
mail::read read done
mail::send send done
mail::delete The permission rules deny mail::delete by the pattern "*::delete".
*/
