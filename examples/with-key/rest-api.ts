/** Calls a public HTTP API, by the URL of its OpenAPI document. Needs network access. */
import { createRuntime, resultText } from "haft";
import { openApiToolset } from "haft/rest";

const runtime = createRuntime({
  toolsets: [openApiToolset("pets", { document: "https://petstore3.swagger.io/api/v3/openapi.json", include: { tags: ["pet"] } })],
});
await runtime.open();
console.log(runtime.registry.names("pets").join(", "));
console.log(resultText(await runtime.execute({ name: "findPetsByStatus", input: { status: "available" } })));
await runtime.close();
